// Package primary implements the verbs that act on items: search, load, execute
// and sign, once for every surface.
//
// Every call passes the same checks here: permission (policy), then resolution
// and verification (resolve), then execution (exec). The package prints nothing
// and knows no protocol; replies for models are in primary/agent.
package primary

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/trust"
)

// Params are the parameters of New. Resolver is required, Executor for tools
// only, Index for Search only. The permissions of a caller are in each call.
type Params struct {
	Resolver *resolve.Resolver
	Executor *exec.Executor
	Index    *search.Index
	Dir      string // absolute directory that relative paths start from
	// Record logs signatures before the signed files are written. If it returns an
	// error, they are not written. Nil keeps no log.
	Record func(ctx context.Context, made []auditlog.Entry) error
	// Ignored returns which paths of the project git ignores. It may be nil.
	Ignored func(ctx context.Context, paths []string) (map[string]bool, error)
	// Dependencies returns the wheels that a Python tool needs, and a finding if the lock
	// lacks them or they cannot be resolved. It may be nil.
	Dependencies func(ctx context.Context, chain *exec.Chain) ([]lock.Dep, error)
	// Refuse is the error of the verbs that write items; nil permits them.
	Refuse error
	// Chains knows chains that were judged before. It may be nil.
	Chains Chains
	// Ran is called after each call of a tool except dry runs. It may be nil.
	Ran func(run *Run, err error)
	Now func() time.Time // nil means time.Now
}

// Verbs executes the four verbs over one opened project.
type Verbs struct {
	p    Params
	deps sync.Mutex // held while Params.Dependencies runs
}

// New returns the verbs over p.
func New(p Params) *Verbs {
	if p.Now == nil {
		p.Now = time.Now
	}
	return &Verbs{p: p}
}

// Resolver returns the resolver of the opened project.
func (v *Verbs) Resolver() *resolve.Resolver {
	return v.p.Resolver
}

// Dir returns the absolute directory that relative paths start from.
func (v *Verbs) Dir() string {
	return v.p.Dir
}

// Element is one item of a chain as surfaces show it.
type Element struct {
	Ref     string       `json:"ref"`
	Space   string       `json:"space"`
	Path    string       `json:"path"`
	Version string       `json:"version,omitempty"`
	Digest  item.Digest  `json:"digest"`
	Signer  string       `json:"signer,omitempty"`
	Owner   string       `json:"owner,omitempty"`
	Status  trust.Status `json:"status"`
}

// ElementOf describes one item.
func ElementOf(it *resolve.Item) Element {
	return Element{
		Ref:     it.Ref.String(),
		Space:   it.Root.Label(),
		Path:    it.Path(),
		Version: it.Meta.Version,
		Digest:  it.Digest,
		Signer:  it.Verdict.Signer.String(),
		Owner:   it.Verdict.Owner,
		Status:  it.Verdict.Status,
	}
}

// Elements describes a chain.
func Elements(c *exec.Chain) []Element {
	out := make([]Element, len(c.Elements))
	for i, it := range c.Elements {
		out[i] = ElementOf(it)
	}
	return out
}

// Call is one request to execute an item.
type Call struct {
	Ref    item.Ref
	Held   policy.Held    // the permissions of the caller; nil permits nothing
	Within exec.Call      // during which this call is made; the zero value for a person or a client
	Args   []string       // "name=text" and "name:=JSON", coerced by the item's schema
	Params map[string]any // taken before Args
	DryRun bool
	Chain  *exec.Chain                           // of Ref, which the caller resolved for this call; nil: Tool resolves it
	OnLine func(stream proc.Stream, line []byte) // nil: output is only in the result
	Ask    exec.Ask                              // asks the user about a risk; nil: such a call is refused
	Dev    *Dev                                  // the tool may run without a valid signature; nil: it may not
}

// Dev is how a user runs a tool that they are editing.
type Dev struct {
	Accept func(*resolve.Item) error // returns nil if the item may run so
	Starts func(*resolve.Item)       // is called before the program starts
}

// Run is the outcome of executing a tool.
type Run struct {
	Metadata *Metadata
	Data     any
	Plan     *exec.Plan
	Result   *exec.Result // nil after a dry run, or when nothing was started
}

// Tool executes a tool; a dry run ends after validation. The Run is not nil when
// the error is not nil: it has the facts known so far.
func (v *Verbs) Tool(ctx context.Context, call Call) (*Run, error) {
	run, err := v.tool(ctx, call)
	if v.p.Ran != nil && !call.DryRun {
		v.p.Ran(run, err)
	}
	return run, err
}

func (v *Verbs) tool(ctx context.Context, call Call) (*Run, error) {
	run := &Run{Metadata: &Metadata{Ref: call.Ref.String(), DryRun: call.DryRun}}
	err := call.Held.Allows(policy.Execute, call.Ref)
	if err != nil {
		return run, err
	}
	chain := call.Chain
	err = error(nil)
	if chain == nil || call.Dev != nil {
		chain, err = v.chain(ctx, call)
	}
	if chain != nil {
		run.Metadata.Chain = Elements(chain)
		if chain.Tool().Usable() == nil || call.Dev != nil {
			if err := Runnable(chain.Tool()); err != nil {
				return run, err
			}
		}
	}
	if err != nil {
		return run, err
	}
	if err := CheckDraft(call.Held, chain.Elements...); err != nil {
		return run, err
	}
	params, err := toolParams(chain, call)
	if err != nil {
		return run, err
	}
	held := call.Held
	if call.Dev != nil {
		profile := exec.DevProfile()
		held = held.
			With(policy.Grant{Caps: held[0].Caps, Profile: &profile, Source: "rye run --dev"})
	}
	made := call.Within.Below(held)
	made.Ask = call.Ask
	made.OnLine = call.OnLine
	if run.Plan, err = v.p.Executor.Plan(ctx, chain, made, params); err != nil {
		return run, err
	}
	if err := CheckDraft(call.Held, run.Plan.Deps...); err != nil {
		return run, err
	}
	if call.Dev != nil {
		if err := run.Plan.CheckDev(); err != nil {
			return run, err
		}
		call.Dev.Starts(chain.Tool())
	}
	if call.DryRun {
		run.Data = dryData(run.Plan)
		return run, nil
	}
	run.Result, err = v.p.Executor.Run(ctx, run.Plan)
	run.fill()
	return run, err
}

// chain returns the chain of a tool.
func (v *Verbs) chain(ctx context.Context, call Call) (*exec.Chain, error) {
	if call.Dev != nil {
		return v.p.Executor.DevChain(ctx, call.Ref, call.Dev.Accept)
	}
	return v.p.Executor.Chain(ctx, call.Ref)
}

// fill copies the facts of the result into the run.
func (r *Run) fill() {
	res := r.Result
	if res == nil {
		return
	}
	m := r.Metadata
	r.Data = res.Data
	m.DurationMS = res.Duration.Milliseconds()
	m.Signal = res.Signal
	if r.Plan.Native == nil {
		m.ReturnCode = &res.ReturnCode
		m.Usage = &res.Usage
	}
	m.Log = res.Log()
	if m.Truncated = res.Dropped.Any(); m.Truncated {
		m.Dropped = &res.Dropped
	}
	m.Sandbox = res.Sandbox
	m.Calls, m.MoreCalls = res.Calls.List, res.Calls.More
}

func dryData(p *exec.Plan) map[string]any {
	if p.Native != nil {
		return map[string]any{
			"primitive": p.Chain.Primitive().Ref.String(), "config": p.Native.Config, "parameters": p.Parameters,
			"timeout_s": int64(p.Timeout / time.Second), "env_names": envNames(p.Env),
		}
	}
	return map[string]any{
		"argv": p.Argv, "program": p.Program, "cwd": p.Dir, "parameters": p.Parameters,
		"timeout_s": int64(p.Timeout / time.Second), "interpreters": p.Interpreters, "env_names": envNames(p.Env),
		"sandbox": p.Sandbox,
	}
}

func envNames(env []string) []string {
	out := make([]string, len(env))
	for i, kv := range env {
		out[i], _, _ = strings.Cut(kv, "=")
	}
	return out
}

// CheckDraft returns an error if one of the items is signed by an agent's key
// only and the caller lacks the capability to use such an item.
func CheckDraft(held policy.Held, items ...*resolve.Item) error {
	for _, it := range items {
		if !it.Verdict.Agent {
			continue
		}
		if err := held.Allows(policy.Draft, it.Ref); err != nil {
			if it.Verdict.Runtime {
				return diag.Typed(err).
					WithReason("record").
					WithDetail("ref", it.Ref.String())
			}
			return diag.Typed(err).
				WithReason("agent_signed").
				WithDetail("path", it.Path()).
				WithDetail("ref", it.Ref.String())
		}
	}
	return nil
}

func toolParams(chain *exec.Chain, call Call) (map[string]any, error) {
	s, err := exec.Schema(chain.Tool())
	if err != nil {
		return nil, err
	}
	values, err := params(call, s)
	return values, exec.BadParameters(err)
}
