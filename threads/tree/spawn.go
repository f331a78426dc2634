package tree

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/copies"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/prepare"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/threadhost"
	"github.com/ryeos/rye/threads/token"
)

// threadStart is what the process of a detached thread reads from its stdin.
type threadStart struct {
	ThreadID    string               `json:"thread_id"`
	Ref         string               `json:"ref"`
	Params      map[string]any       `json:"params"`
	Limits      []string             `json:"limits"`
	Model       string               `json:"model"`
	Provider    string               `json:"provider"`
	Message     string               `json:"message"`
	Call        string               `json:"call,omitempty"`
	Copy        string               `json:"copy,omitempty"` // the id of a working copy
	Sees        *threads.WorkingCopy `json:"sees,omitempty"` // what its tools see, if they change no file or it is outside of projects
	Relayed     bool                 `json:"relayed,omitempty"`
	Attended    bool                 `json:"attended,omitempty"`
	Suspends    bool                 `json:"suspends,omitempty"`
	Follows     string               `json:"follows,omitempty"`
	Text        string               `json:"text,omitempty"` // with Follows
	Interactive bool                 `json:"interactive,omitempty"`
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

// Spawn starts a thread in a process of its own, which outlives this one and its
// session. What can be refused before the thread begins is refused here; SpawnThread returns
// when the log has the start of the thread. A thread that a thread starts is admitted by the
// registry first, and leaves nothing if it does not begin.
func Spawn(
	ctx context.Context,
	p *project.Project,
	o *threadhost.Options,
) (s *Spawned, err error) {
	if p, err = project.InAccount(p); err != nil {
		return nil, err
	}
	prepared, err := prepare.Directive(ctx, p, o.Request())
	if err != nil {
		return nil, err
	}
	id := cmp.Or(o.ID, graph.NewID(prepared.Item.Ref.ID, p.Env.Now()))
	if up := o.Above; up != nil {
		child := store.Thread{
			ID:      id,
			Project: p.Spaces.ProjectDir,
			Kind:    "thread",
			Ref:     prepared.Ref,
			Digest:  prepared.Item.Digest.String(),
			Model:   prepared.Services[0].Model,
			Name:    prepared.Name(p),
		}
		if prepared.Limits, err = up.Admit(ctx, child, o, prepared); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, up.Account.Discard(context.WithoutCancel(ctx), id))
			}
		}()
		o.Limits = asFlags(prepared.Limits)
	}
	start := threadStart{
		ThreadID:    id,
		Ref:         prepared.Item.Ref.String(),
		Params:      prepared.Inputs,
		Limits:      o.Limits,
		Model:       o.Model,
		Provider:    o.Provider,
		Message:     o.Message,
		Call:        o.Call,
		Relayed:     o.Relayed,
		Attended:    o.Attended,
		Suspends:    o.Suspends,
		Locked:      p.Env.Locked,
		Unlocked:    p.Env.Unlocked,
		Program:     p.Env.ProgramText(),
		Interactive: o.Interactive,
		Follows:     o.Follows,
		Text:        o.Text,
	}
	in := p
	if o.Above != nil {
		in = o.Above.Project
	}
	if in, err = copies.WorksIn(ctx, in, o.Wish(), id); err != nil {
		return nil, err
	}
	if in.Copied != nil {
		start.Copy = in.Copied.ID
	}
	if in.ReadOnly || in.SeenDir != nil {
		w := copies.WorkingCopy(in)
		start.Sees = &w
	}
	if err := in.PrepareAccount(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, copies.DropUnused(context.WithoutCancel(ctx), in, id))
		}
	}()
	if start.Attachments, err = threadhost.Attachments(ctx, in, o, prepared); err != nil {
		return nil, err
	}
	if start.Token, err = mintFor(ctx, p, prepared, o, id); err != nil {
		return nil, err
	}
	input, err := jsonx.Marshal(start)
	if err != nil || len(input) > control.MaxDetach {
		return nil, diag.New(diag.TooLarge, "starting %s: the inputs have more than %d bytes", o.Ref, control.MaxDetach)
	}
	input = append(append(input, control.AfterStart), p.Passed()...)
	began, err := control.Detach(ctx, p, start.ThreadID, input, p.Env.ThreadArgs)
	if err != nil {
		return nil, errors.Join(err, ledger.RevokeTokens(context.WithoutCancel(ctx), p, start.ThreadID, true))
	}
	return &Spawned{
		ThreadID:  began.ID,
		Number:    began.Number,
		PID:       began.PID,
		State:     began.State,
		Directive: start.Ref,
		Limits:    prepared.Limits,
	}, nil
}

// mintFor makes the token of a thread whose process has the permissions of the caller.
func mintFor(
	ctx context.Context,
	p *project.Project,
	prepared *prepare.Prepared,
	o *threadhost.Options,
	id string,
) (token.Token, error) {
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
		grant.Root = above.Root()
		if above.Options.Token != nil {
			grant.Parent = above.Options.Token.ID
		}
		if above.Account != nil {
			open = above.Account.Store // it is open for the life of the thread
		}
	}
	return ledger.Mint(ctx, p, grant, open)
}

// RunProcess is the body of the process of a detached thread. No person can be
// asked here; the process that waits for the thread may ask one.
func RunProcess(ctx context.Context, e *project.Env, in io.Reader) (err error) {
	m, err := control.ReadStart(in)
	if err != nil {
		return err
	}
	if m.Flag("resume") {
		return resumeProcess(ctx, e, m)
	}
	id, ref, err := m.Named("thread_id", item.Directive)
	if err != nil {
		return err
	}
	p, err := control.OpenDetached(ctx, e, id, m)
	if err != nil {
		return err
	}
	claims, open, err := ledger.TakeToken(ctx, p, id, token.Token{Text: m.Text("token"), Signature: m.Text("signature")})
	if err != nil {
		return err
	}
	o := &threadhost.Options{
		Ledger:      open,
		ID:          id,
		Ref:         ref,
		Held:        claims.Permits(),
		Token:       claims,
		Params:      m.Object("params"),
		Model:       m.Text("model"),
		Provider:    m.Text("provider"),
		Message:     m.Text("message"),
		Call:        m.Text("call"),
		Copy:        m.Text("copy"),
		Relayed:     m.Flag("relayed"),
		Attended:    m.Flag("attended"),
		Suspends:    m.Flag("suspends"),
		Interactive: m.Flag("interactive"),
		Follows:     m.Text("follows"),
		Text:        m.Text("text"),
	}
	defer func() {
		err = errors.Join(err, o.CloseLedger())
	}()
	if o.Attach, err = threadhost.ReadBlocks(m["attachments"]); err != nil {
		return diag.New(diag.Usage, "reading what to start: attachments: %w", err)
	}
	o.AttachReady = true
	if w := m.Object("sees"); w != nil {
		o.Sees = &threads.WorkingCopy{}
		o.Sees.Mode, _ = w["mode"].(string)
		o.Sees.Dir, _ = w["dir"].(string)
	}
	o.Limits = m.Texts("limits")
	_, err = threadhost.Start(ctx, p, o)
	return err
}
