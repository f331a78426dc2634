package project

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/token"
)

// threadStart is what the process of a detached thread reads from its stdin.
type threadStart struct {
	ThreadID string               `json:"thread_id"`
	Ref      string               `json:"ref"`
	Params   map[string]any       `json:"params"`
	Limits   []string             `json:"limits"`
	Model    string               `json:"model"`
	Provider string               `json:"provider"`
	Message  string               `json:"message"`
	Call     string               `json:"call,omitempty"`
	Copy     string               `json:"copy,omitempty"` // the id of a working copy
	Sees     *threads.WorkingCopy `json:"sees,omitempty"` // what its tools see, if they change no file or it is outside of projects
	Relayed  bool                 `json:"relayed,omitempty"`
	Attended bool                 `json:"attended,omitempty"`
	// Attachments are prepared, with their content.
	Attachments []message.Block `json:"attachments,omitempty"`
	Locked      bool            `json:"locked"`
	Unlocked    bool            `json:"unlocked"`
	Program     string          `json:"program"` // that passes the metadata of items
	token.Token
}

// Spawned is a thread that runs in a process of its own.
type Spawned struct {
	ThreadID  string         `json:"thread_id"`
	Number    int64          `json:"number,omitempty"` // in the user account
	PID       int            `json:"pid"`
	State     string         `json:"state"`
	Directive string         `json:"directive"`
	Limits    threads.Limits `json:"limits"`
}

// SpawnThread starts a thread in a process of its own, which outlives this one and its
// session. What can be refused before the thread begins is refused here; SpawnThread returns
// when the log has the start of the thread. A thread that another one starts is admitted by
// the registry first, and leaves nothing if it does not begin.
func (p *Project) SpawnThread(ctx context.Context, o *ThreadOptions) (s *Spawned, err error) {
	if p, err = inAccount(p); err != nil {
		return nil, err
	}
	prepared, err := p.PrepareThread(ctx, o.request())
	if err != nil {
		return nil, err
	}
	id := graph.NewID(prepared.Item.Ref.ID, p.Env.Now())
	if up := o.Above; up != nil {
		child := store.Thread{ID: id, Project: p.Spaces.ProjectDir, Kind: "thread", Ref: prepared.Ref, Digest: prepared.Item.Digest.String(), Model: prepared.Services[0].Model, Name: prepared.name(p)}
		if prepared.Limits, err = up.admit(ctx, child, o, prepared); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, up.money.Discard(context.WithoutCancel(ctx), id))
			}
		}()
		o.Limits = asFlags(prepared.Limits)
	}
	start := threadStart{
		ThreadID: id, Ref: prepared.Item.Ref.String(), Params: prepared.Inputs,
		Limits: o.Limits, Model: o.Model, Provider: o.Provider, Message: o.Message, Call: o.Call, Relayed: o.Relayed, Attended: o.Attended, Locked: p.Env.Locked, Unlocked: p.Env.Unlocked, Program: p.Env.programText(),
	}
	in := p
	if o.Above != nil {
		in = o.Above.p
	}
	if in, err = in.worksIn(ctx, o.wish(), id); err != nil {
		return nil, err
	}
	if in.Copied != nil {
		start.Copy = in.Copied.ID
	}
	if in.ReadOnly || in.seenDir != nil {
		w := in.workingCopy()
		start.Sees = &w
	}
	if err := in.prepareAccount(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.dropUnused(context.WithoutCancel(ctx), id))
		}
	}()
	if start.Attachments, err = attachments(ctx, in, o, prepared); err != nil {
		return nil, err
	}
	if start.Token, err = mintFor(ctx, p, prepared, o, id); err != nil {
		return nil, err
	}
	input, err := jsonx.Marshal(start)
	if err != nil || len(input) > maxDetach {
		return nil, diag.New(diag.TooLarge, "starting %s: the inputs have more than %d bytes", o.Ref, maxDetach)
	}
	input = append(append(input, afterStart), p.passed()...)
	began, err := p.detach(ctx, start.ThreadID, input, p.Env.ThreadArgs)
	if err != nil {
		return nil, errors.Join(err, p.revokeTokens(context.WithoutCancel(ctx), start.ThreadID, true))
	}
	return &Spawned{ThreadID: began.ID, Number: began.Number, PID: began.PID, State: began.State, Directive: start.Ref, Limits: prepared.Limits}, nil
}

// mintFor makes the token of a thread whose process has the permissions of the caller.
func mintFor(ctx context.Context, p *Project, prepared *PreparedThread, o *ThreadOptions, id string) (token.Token, error) {
	grant := token.Grant{
		Thread:    id,
		Root:      id,
		Directive: prepared.Item.Digest,
		Depth:     prepared.Limits.Depth,
		Held:      o.Held,
		Duration:  time.Duration(prepared.Limits.DurationSeconds) * time.Second,
	}
	var open *store.Store
	if above := o.Above; above != nil {
		grant.Root = above.root()
		if above.o.Token != nil {
			grant.Parent = above.o.Token.ID
		}
		if above.money != nil {
			open = above.money.store // it is open for the life of the thread
		}
	}
	return p.mint(ctx, grant, open)
}

// RunThreadProcess is the body of the process of a detached thread. No person can be
// asked here; the process that waits for the thread may ask one.
func (e *Env) RunThreadProcess(ctx context.Context, in io.Reader) (err error) {
	m, err := readStart(in)
	if err != nil {
		return err
	}
	if m.flag("resume") {
		return e.resumeProcess(ctx, m)
	}
	id, ref, err := m.named("thread_id", item.Directive)
	if err != nil {
		return err
	}
	p, err := e.openDetached(ctx, id, m)
	if err != nil {
		return err
	}
	claims, ledger, err := p.takeToken(ctx, id, token.Token{Text: m.text("token"), Signature: m.text("signature")})
	if err != nil {
		return err
	}
	o := &ThreadOptions{ledger: ledger, ID: id, Ref: ref, Held: claims.Permits(), Token: claims, Params: m.object("params"), Model: m.text("model"), Provider: m.text("provider"), Message: m.text("message"), Call: m.text("call"), Copy: m.text("copy"), Relayed: m.flag("relayed"), Attended: m.flag("attended")}
	defer func() { err = errors.Join(err, o.closeLedger()) }()
	if o.Attach, err = readBlocks(m["attachments"]); err != nil {
		return diag.New(diag.Usage, "reading what to start: attachments: %w", err)
	}
	o.attached = true
	if w := m.object("sees"); w != nil {
		o.Sees = &threads.WorkingCopy{}
		o.Sees.Mode, _ = w["mode"].(string)
		o.Sees.Dir, _ = w["dir"].(string)
	}
	list, _ := m["limits"].([]any)
	for _, v := range list {
		limit, _ := v.(string)
		o.Limits = append(o.Limits, limit)
	}
	_, err = p.StartThread(ctx, o)
	return err
}
