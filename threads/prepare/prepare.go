package prepare

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/directive"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/handle"
	"github.com/ryeos/rye/threads/modelhost"
	"github.com/ryeos/rye/threads/records"
	"github.com/ryeos/rye/threads/settings"
	"github.com/ryeos/rye/threads/steps"
	"github.com/ryeos/rye/threads/transcript"
)

// Request is a directive, and how its caller wants a thread of it.
type Request struct {
	Ref      item.Ref
	Args     []string
	Params   map[string]any
	Held     policy.Held
	Limits   []string // NAME=VALUE, of a person
	Narrow   []string // NAME=VALUE, of a caller that may only lower what the directive has
	Model    string   // "" for the one of the directive
	Provider string   // "" for any that has the model
	// NoFallback leaves out the other models of the directive.
	NoFallback bool
	Plan       bool             // nothing is started: a model may be missing
	Recorded   *threads.Started // the start of a recording that answers the thread; nil calls a model
	Below      bool             // a node of a graph, or the process of a token, starts it
	Child      bool             // another thread starts it
}

// Prepared is a directive with everything that a thread of it would use.
type Prepared struct {
	*primary.Prepared
	Directive *directive.Directive
	Bases     []*resolve.Item
	Limits    threads.Limits
	Services  []*threads.Service
	Loop      *resolve.Item
	Held      policy.Held       // of the thread
	NoModel   error             // why there is no model, for a plan
	Warnings  []string          // of the prices of its models
	Before    threads.Cost      // of the threads of its chain before it
	Attempts  int64             // of one model call, at most
	MaxOutput int64             // of one answer, in tokens
	MinOutput int64             // to which that is lowered if money or tokens are short
	Keys      map[string]string // of the providers of its models
	LoopHeld  policy.Held
	HookHeld  policy.Held // of the actions of hooks
	inherited policy.Set  // of a child whose directive declares no permissions
}

// Directive verifies a directive with what it extends, checks its inputs, and
// selects limits, permissions and model. It starts nothing.
func Directive(ctx context.Context, p *project.Project, o *Request) (*Prepared, error) {
	prepared, err := p.Verbs.Directive(ctx, primary.Call{
		Ref:    o.Ref,
		Held:   o.Held,
		Args:   o.Args,
		Params: o.Params,
	})
	if err != nil {
		return nil, err
	}
	out := &Prepared{Prepared: prepared}
	if out.Directive, out.Bases, err = p.Resolver.Directive(ctx, prepared.Item); err != nil {
		return nil, err
	}
	def, err := settings.Defaults(ctx, p.Resolver)
	if err != nil {
		return nil, err
	}
	out.MaxOutput = cmp.Or(out.Directive.Model.MaxOutputTokens, def.MaxOutput)
	out.MinOutput = def.MinOutput
	if out.Limits, err = limits(ctx, p, def.Limits, out.Directive.Limits, o.Limits); err != nil {
		return nil, err
	}
	narrowed := out.Limits
	if err := SetLimits(&narrowed, o.Narrow); err != nil {
		return nil, err
	}
	out.Limits = out.Limits.Within(narrowed)
	if err := model(ctx, p, out, o); err != nil {
		return nil, err
	}
	if out.Loop, err = p.Resolver.Find(ctx, LoopRef()); err != nil {
		return nil, err
	}
	if err := primary.CheckDraft(o.Held, out.Loop); err != nil {
		return nil, err
	}
	if o.Below {
		out.HoldBelow(o.Held, o.Child)
	} else {
		out.hold(o.Held)
	}
	return out, nil
}

// model selects the models of a thread, with their keys and the warnings of their prices.
func model(ctx context.Context, p *project.Project, out *Prepared, o *Request) (err error) {
	resilience, err := settings.Resilience(ctx, p.Resolver)
	if err != nil {
		return err
	}
	out.Attempts = resilience.MaxAttempts
	if o.Recorded != nil {
		return recordedModel(ctx, p, out, o.Recorded)
	}
	if out.Services, err = services(ctx, p, out.Directive.Model, o); err != nil {
		if !o.Plan {
			return err
		}
		out.NoModel = err
	}
	if out.Keys, err = modelhost.Keys(ctx, p, out.Services); err != nil {
		return err
	}
	out.Warnings, err = modelhost.PriceWarnings(ctx, p, out.Services)
	return err
}

// hold sets the permissions. The thread has the caller's and the directive's: a directive that
// declares none may do nothing. The loop has the permissions of the directive, its steps, and
// the model. A hook does not have the model: its call of a provider would be outside of the
// thread's account.
func (out *Prepared) hold(caller policy.Held) {
	d := out.Directive
	source := out.Ref + " " + out.Item.Digest.String()
	grant := policy.Grant{Caps: policy.Set{}, Profile: d.Permissions.Sandbox, Source: source}
	if d.Permissions.Declared {
		grant.Caps = d.Permissions.Caps
	}
	out.Held = caller.With(grant)
	grant.Source = "the loop of " + source
	out.HookHeld = caller.With(also(grant, out.stepCaps()))
	out.LoopHeld = caller.With(also(grant, out.loopCaps()))
}

// stepCaps are the permissions for the steps of the loop.
func (out *Prepared) stepCaps() policy.Set {
	return policy.Set{policy.Needed(policy.Execute, item.Ref{Kind: item.Tool, ID: steps.Dir + "*"})}
}

// loopCaps are those for the steps, and for the model that the directive names.
// A loop that calls another item needs what the directive permits.
func (out *Prepared) loopCaps() policy.Set {
	caps := out.stepCaps()
	for _, s := range out.Services {
		caps = append(caps, policy.Needed(policy.Execute, s.Provider))
	}
	return caps
}

// also returns a grant with more permissions.
func also(g policy.Grant, caps policy.Set) policy.Grant {
	g.Caps = append(slices.Clone(g.Caps), caps...)
	return g
}

// limits returns the limits of a thread: the values that the person or the directive requests,
// else the default, which is l, and at most the allowance.
func limits(
	ctx context.Context,
	p *project.Project,
	l threads.Limits,
	d directive.Limits,
	flags []string,
) (threads.Limits, error) {
	if d.Spend != nil {
		l.Spend = *d.Spend
	}
	for _, x := range []struct {
		to   *int64
		from *int64
	}{{&l.Turns, d.Turns}, {&l.Tokens, d.Tokens}, {&l.Spawns, d.Spawns}, {&l.Depth, d.Depth}, {&l.DurationSeconds, d.DurationSeconds}} {
		if x.from != nil {
			*x.to = *x.from
		}
	}
	if err := SetLimits(&l, flags); err != nil {
		return l, err
	}
	return WithinAllowance(ctx, p, l)
}

// WithinAllowance returns limits that are at most the limits of the allowance.
func WithinAllowance(ctx context.Context, p *project.Project, l threads.Limits) (threads.Limits, error) {
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return l, err
	}
	l = l.Within(a.Limits)
	l.DurationSeconds = min(l.DurationSeconds, directive.MaxDuration)
	return l, nil
}

// SetLimits reads limits as a person gives them: turns=8 or spend=0.20.
func SetLimits(l *threads.Limits, flags []string) error {
	whole := map[string]*int64{
		"turns":            &l.Turns,
		"tokens":           &l.Tokens,
		"spawns":           &l.Spawns,
		"depth":            &l.Depth,
		"duration_seconds": &l.DurationSeconds,
	}
	names := []string{"turns", "tokens", "spend", "spawns", "depth", "duration_seconds"}
	for _, f := range flags {
		name, value, ok := strings.Cut(f, "=")
		bad := func(format string, args ...any) error {
			return diag.New(diag.Usage, "reading --limit "+f+": "+format, args...)
		}
		switch {
		case !ok:
			return bad("it must be NAME=VALUE")
		case name == "spend":
			usd, err := policy.ParseUSD(value)
			if err != nil {
				return bad("%w", err)
			}
			l.Spend = usd
		case whole[name] != nil:
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 0 {
				return bad("%q is not a whole number", value)
			}
			*whole[name] = n
		default:
			e := diag.New(diag.Usage, "reading --limit %s: the limits are %s", f, strings.Join(names, ", "))
			if near := suggest.Nearest(name, names); near != "" {
				e.WithReason("nearest").WithDetail("nearest", near)
			}
			return e
		}
	}
	return nil
}

// HoldBelow sets the permissions of a thread that the caller's grants were not made for:
// its loop may also run the steps, and call the model that the directive names. The
// thread itself, and so the model and every program that it starts, gets neither.
// A child whose directive declares nothing has what its caller has.
func (out *Prepared) HoldBelow(caller policy.Held, child bool) {
	out.hold(caller)
	last := len(out.Held) - 1 // the directive's
	if child && !out.Directive.Permissions.Declared {
		grant := caller[len(caller)-1]
		out.Held = caller
		out.inherited = grant.Caps
		out.HookHeld[last], out.LoopHeld[last] = also(grant, out.stepCaps()), also(grant, out.loopCaps())
	}
	var hooks, loop policy.Held
	for _, g := range caller {
		hooks = hooks.
			With(also(g, out.stepCaps()))
		loop = loop.
			With(also(g, out.loopCaps()))
	}
	out.HookHeld, out.LoopHeld = hooks.
		With(out.HookHeld[last]), loop.With(out.LoopHeld[last])
}

// LoopID is the graph item that has the order of a turn.
const LoopID = "rye/agent/threads/runner"

// LoopRef returns the reference of the item of LoopID.
func LoopRef() item.Ref {
	return item.Ref{Kind: item.Tool, ID: LoopID}
}

// IdentityOf returns an item as logs of threads record it.
func IdentityOf(it *resolve.Item) threads.Identity {
	return threads.Identity{Ref: it.Ref.String(), Digest: it.Digest, Space: transcript.Space(it.Root.Space)}
}

// Caps returns the capabilities that the directive declares. If it declares none, a child
// has the capabilities of its caller, and another thread has none.
func (r *Prepared) Caps() policy.Set {
	if !r.Directive.Permissions.Declared {
		return r.inherited
	}
	return r.Directive.Permissions.Caps
}

// Name returns the name of a thread, without the values of keys: the registry has no text that
// its log does not have.
func (r *Prepared) Name(p *project.Project) string {
	b, err := jsonx.Marshal(r.Inputs)
	if err != nil {
		return ""
	}
	var inputs map[string]any
	if json.Unmarshal(records.Redactor(p, r.Keys).Bytes(b), &inputs) != nil {
		return ""
	}
	return handle.Name(inputs)
}
