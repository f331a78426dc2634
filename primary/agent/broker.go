package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/policy"
)

const (
	// MaxBrokerCalls is the number of calls of one program that run at once.
	MaxBrokerCalls = 16
	// maxBrokers is how deep programs with a broker start each other.
	maxBrokers = 8
	// maxTreeCalls is the number of calls that run at once of a program and of all
	// programs below it: each of 8 levels could make 16.
	maxTreeCalls = 64
	// maxBrokerReply is the length of the longest reply to a program, in bytes.
	maxBrokerReply = 16 << 20
	// maxCallRef is the length of the longest ref in the record of a call, in bytes.
	maxCallRef = 256
)

// Broker offers the verbs to one program of a tool, with the permissions of the tool's
// caller and the calls that its item lists. The program is not a user: it answers no
// question.
type Broker struct {
	open func(ctx context.Context, within exec.Call) (*Workspace, error)
	held policy.Held
	// current is the call of the program, within which it calls the verbs.
	current exec.Current
	home    string
	run     context.Context // of the program: it has the values, each call its own end
	tree    *brokerTree
	// around makes the calls in place of the workspace; nil unless Around was called.
	around func(ctx context.Context, w *Workspace, req Request) *diag.Envelope

	mu   sync.Mutex
	made exec.BrokerCalls
}

// brokerTree is shared by the brokers below one program.
type brokerTree struct{ calls atomic.Int64 }

// brokerKey is the key of a brokerLevel in a context.
type brokerKey struct{}

type brokerLevel struct {
	depth int
	tree  *brokerTree
}

// NewBroker returns the broker of a program that is about to start. ctx is the context of its
// run. open returns the workspace of a call. The error is LIMIT_EXCEEDED if brokers
// are nested too deep.
func NewBroker(
	ctx context.Context,
	held policy.Held,
	current exec.Current,
	home string,
	open func(ctx context.Context, within exec.Call) (*Workspace, error),
) (*Broker, error) {
	level, _ := ctx.Value(brokerKey{}).(brokerLevel)
	if level.tree == nil {
		level.tree = &brokerTree{}
	}
	if level.depth++; level.depth > maxBrokers {
		return nil, diag.New(diag.LimitExceeded, "opening a broker: programs call tools with a broker more than %d deep", maxBrokers)
	}
	return &Broker{
		open:    open,
		held:    held,
		current: current,
		home:    home,
		run:     context.WithValue(ctx, brokerKey{}, level),
		tree:    level.tree,
	}, nil
}

// Around sets what makes the calls of the program, in place of Workspace.Do: in a thread,
// they are the thread's. It must be called before the first call.
// A program that replaces a step makes its requests here. A program that returned the requests
// was the alternative: hooks decide one after another, so it would need a dialogue. The actions
// are also recorded as calls of the program.
func (b *Broker) Around(make func(ctx context.Context, w *Workspace, req Request) *diag.Envelope) {
	b.around = make
}

// Definitions returns all four verbs: a call without permission is an error that names
// the missing capability.
func (b *Broker) Definitions(ctx context.Context) (*Definitions, error) {
	w, err := b.open(ctx, exec.Call{})
	if err != nil {
		return nil, err
	}
	out := &Definitions{}
	for _, name := range Names() {
		d, _, err := w.define(ctx, name)
		if err != nil {
			return nil, err
		}
		d.OutputSchema = nil // a reply is one text
		out.Tools = append(out.Tools, *d)
	}
	return out, nil
}

// Call executes one request of the program. The reply is complete: a program reads
// more than a model. Each call is recorded.
// A call that was refused for the limit of calls at once did not begin, so it is not recorded.
func (b *Broker) Call(ctx context.Context, req Request) *Reply {
	start := time.Now()
	env := b.call(joined{ctx, b.run}, req)
	if p, ok := env.Data.(presented); ok {
		env.Data = p.whole
		if env.Error != nil && len(p.blocks) == 0 {
			env.Data = nil // the error has it
		}
	}
	if env.Error != nil {
		env.Error = presentable(env.Error, b.home)
	}
	text, err := render(env, nil)
	if err == nil && len(text) > maxBrokerReply {
		err = diag.New(diag.TooLarge, "calling %s: the result has %d bytes, more than %d", req.Name, len(text), maxBrokerReply)
	}
	if err != nil {
		env = failed(err, nil)
		text, _ = render(env, nil) // an error consists of texts
	}
	b.record(req, env, time.Since(start))
	return &Reply{Text: text, Failed: !env.Success}
}

func (b *Broker) call(ctx context.Context, req Request) *diag.Envelope {
	defer b.tree.calls.Add(-1)
	if b.tree.calls.Add(1) > maxTreeCalls {
		return failed(diag.New(diag.LimitExceeded, "calling %s: a program and the programs that it started make more than %d calls at once", req.Name, maxTreeCalls), nil)
	}
	switch path, err := projectPath(req.Args); {
	case err != nil:
		return failed(err, nil)
	case path != "":
		return failed(diag.New(diag.UnknownParameter, "calling %s: project_path is not accepted, a program works in the project of its caller", req.Name), nil)
	}
	within, _ := b.current()
	w, err := b.open(ctx, within)
	if err != nil {
		return failed(err, nil)
	}
	// What the client sends is written by the program: an answer of it is not the
	// user's.
	req.Held = b.held
	req.Within = within
	req.Ask = nil
	req.Asking = nil
	if b.around != nil {
		return b.around(ctx, w, req)
	}
	return w.Do(ctx, req)
}

// record adds a call to the record of the run.
func (b *Broker) record(req Request, env *diag.Envelope, duration time.Duration) {
	var args struct {
		Kind string `json:"item_type"`
		ID   string `json:"item_id"`
	}
	_ = json.Unmarshal(req.Args, &args) // arguments of a wrong type were refused
	ref := args.ID
	if ref != "" && !strings.Contains(ref, ":") {
		ref = cmp.Or(args.Kind, "tool") + ":" + ref
	}
	call := exec.BrokerCall{
		Verb:       req.Name,
		Ref:        shortRef(ref),
		Success:    env.Success,
		DurationMS: duration.Milliseconds(),
	}
	if env.Error != nil {
		call.Code = env.Error.Code
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made.Add(call)
}

// shortRef returns the item that a program named, with visible characters only.
func shortRef(ref string) string {
	ref = hidden.Visible(ref)
	return cuttext.Short(ref, maxCallRef)
}

// Made returns the calls that have ended.
func (b *Broker) Made() exec.BrokerCalls {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.made
	out.List = slices.Clone(out.List)
	return out
}

// Prompts returns none: a broker has the four verbs.
func (b *Broker) Prompts(context.Context) ([]Prompt, error) {
	return []Prompt{}, nil
}

// Prompt returns an error.
func (b *Broker) Prompt(
	_ context.Context,
	name string,
	_ map[string]string,
) (*PromptText, error) {
	return nil, diag.New(diag.ItemNotFound, "reading prompt %q: a broker has no prompts", name)
}

// Resources returns none.
func (b *Broker) Resources(context.Context) ([]Resource, error) {
	return []Resource{}, nil
}

// Resource returns an error.
func (b *Broker) Resource(_ context.Context, uri string) (text, mime string, err error) {
	return "", "", diag.New(diag.ItemNotFound, "reading resource %q: a broker has no resources", uri)
}

// joined is the context of a call with the values of the run that makes it: how deep
// brokers are nested is one of them.
type joined struct {
	context.Context
	run context.Context
}

func (j joined) Value(key any) any {
	switch key.(type) {
	case brokerKey:
		return j.run.Value(key) // the server may have the context of an outer run
	}
	if v := j.Context.Value(key); v != nil {
		return v
	}
	return j.run.Value(key)
}
