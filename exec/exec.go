// Package exec runs a tool. It walks the chain from the tool to a primitive,
// validates it, compares it with the lock, writes the verified bytes to files
// that the program can read, and passes a resolved command to the primitive.
//
// Every element comes from package resolve, so no file runs without a verdict.
// The package does not decide permissions: package policy does, before the call.
package exec

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/internal/cas"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/runsoutside"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// MaxChain is the largest number of elements of a chain.
const MaxChain = 10

// Params configures an Executor. Resolver and Cache are required.
type Params struct {
	Resolver    *resolve.Resolver
	Cache       string   // directory of the content-addressed store
	Project     string   // the project's directory, absolute; "" without one
	Dir         string   // the tools' working directory, absolute; "" is Project
	UserSpace   string   // directory that contains the user's .ai, "" if unknown
	SystemSpace string   // installed system space, "" if only embedded
	Environ     []string // the environment the allow-list is taken from; nil is empty
	Self        string   // this executable, for applets
	// Applet runs an applet of this program in this process, as a process of its own would,
	// and returns its exit status; nil starts a process for each.
	Applet func(context.Context, AppletCall) int
	// Boundary is what file tools and file sinks may reach; nil is Project without
	// its protected paths.
	Boundary *policy.Boundary
	// Fixed are directories that every program may read: the objects of the repository
	// that a working copy was made from. One with a link on its path is left out.
	Fixed []string
	// Ladder returns the rungs that this system can enforce; nil means sandbox.Probe.
	Ladder func() sandbox.Ladder
	// Starter starts the helpers of the sandbox in a process with many runs; nil starts none.
	Starter *sandbox.Starter
	// Listings have the results of earlier runs of the process, or are nil.
	Listings *sandbox.Listings
	// Records is the directory below Project that has the logs of runs, "" for none. It exists
	// before a program starts that writes the project: what rye makes there meanwhile would be
	// taken for a protected path that the program made.
	Records string
	// Git finds the files that the settings of git name. Nil reads the settings of a repository only.
	Git *runsoutside.Finder
	// Unconfined reports whether the user's allowance names an item that signer signed, so
	// that it runs where its sandbox cannot be enforced. Nil names none.
	Unconfined func(ctx context.Context, ref item.Ref, signer string) (bool, error)
	// Removed returns the rows of the protected paths that the allowance of the user
	// removes; nil removes none.
	Removed func(context.Context) ([]string, error)
	// Approve returns nil if a call may run; it asks the user of the call. A nil Approve
	// approves every call.
	Approve func(ctx context.Context, call Call, about policy.Call) error
	// Ceiling is what the allowance permits every program at most; nil is everything.
	Ceiling func(context.Context) (policy.Profile, error)
	// Consent returns nil if a program in the project may run. A nil Consent
	// refuses every such program.
	Consent func(Interpreter) error
	// Consented returns the names to which the user consented among the entries of a merged
	// configuration. A program that reads the configuration receives the list.
	Consented func(config string, settings map[string]any) []string
	// Lock is the project's lock, nil without one. A tool of the project that it
	// names must match its entry.
	Lock   *lock.Lock
	System func() lock.System // the system bundle of this program; nil without one
	Locked bool               // a tool without a lock entry is refused
	// Warn is called if the lock was written with other items of the system. Nil
	// ignores it.
	Warn func(error)
	// Grace is the time between the request to stop and the kill. Zero means
	// proc.DefaultGrace.
	Grace time.Duration
	// Broker opens the connection for a program whose item has sandbox.broker; held are
	// the permissions of its calls. A nil Broker refuses every such program.
	Broker func(ctx context.Context, held policy.Held, current Current) (Connection, error)
	// Provider makes a call of a model for a tool with tool_type provider, whose request
	// the http_client primitive describes. A nil Provider refuses every such tool.
	Provider func(ctx context.Context, in ProviderCall) (map[string]any, error)
	// Keys returns the named keys as far as the user has them: tools with tool_type
	// provider receive them for the names that they pass. Nil has none.
	Keys func(names []string) (map[string]string, error)
	// Natives are the functions that tools on NativeStep name in config.func.
	Natives map[string]Native
	Now     func() time.Time // nil means time.Now
}

// Executor builds and runs chains. It is safe for concurrent use.
type Executor struct {
	p      Params
	store  *cas.Store
	bodies map[string]body // by the primitive's id
	paths  *proc.Outside
}

// New returns an Executor over p.
func New(p Params) *Executor {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Dir == "" {
		p.Dir = p.Project
	}
	if p.Boundary == nil {
		p.Boundary = &policy.Boundary{Project: real(p.Project)}
	}
	e := &Executor{p: p, store: &cas.Store{Dir: p.Cache, Now: p.Now}, paths: &proc.Outside{}}
	e.bodies = bodies(e)
	return e
}

// Chain is a tool and the elements that execute it, ending in a primitive. Every
// element is verified and every adjacent pair is valid.
// A chain is resolved for each run. Its files must be read and checked in any case, and
// comparing the pairs costs microseconds.
type Chain struct {
	Elements []*resolve.Item
}

// Tool returns the first element.
func (c *Chain) Tool() *resolve.Item {
	return c.Elements[0]
}

// Primitive returns the last element.
func (c *Chain) Primitive() *resolve.Item {
	return c.Elements[len(c.Elements)-1]
}

// Chain resolves, verifies and validates the chain of a tool and compares it with
// the lock. The error has every finding of every element that could be read; the
// chain then has those elements.
func (e *Executor) Chain(ctx context.Context, ref item.Ref) (*Chain, error) {
	c, err := e.Walk(ctx, ref)
	if err == nil {
		err = e.checkLock(ctx, c)
	}
	return c, err
}

// Walk is Chain without the lock check. Only code that writes the lock may use it.
func (e *Executor) Walk(ctx context.Context, ref item.Ref) (*Chain, error) {
	return e.walk(ctx, ref, nil)
}

// walk is Walk with accept, which decides about the tool itself if it is not nil.
func (e *Executor) walk(
	ctx context.Context,
	ref item.Ref,
	accept func(*resolve.Item) error,
) (*Chain, error) {
	first, err := e.p.Resolver.Inspect(ctx, ref)
	if err != nil {
		return nil, err
	}
	return e.walkFrom(ctx, first, accept)
}

// WalkFrom is Walk for an item that was read before.
func (e *Executor) WalkFrom(ctx context.Context, first *resolve.Item) (*Chain, error) {
	return e.walkFrom(ctx, first, nil)
}

func (e *Executor) walkFrom(
	ctx context.Context,
	first *resolve.Item,
	accept func(*resolve.Item) error,
) (*Chain, error) {
	c := &Chain{Elements: []*resolve.Item{first}}
	var errs []error
	for it := first; it != nil; {
		bad := it.Usable()
		if it == first && accept != nil {
			bad = accept(it)
		}
		if bad != nil {
			errs = append(errs, bad)
		}
		next, err := e.next(ctx, c, it)
		switch {
		case err != nil:
			errs = append(errs, err)
			next = nil
		case next != nil:
			c.Elements = append(c.Elements, next)
		case bad == nil: // an unusable element does not end the chain: its metadata may be wrong
			if err := e.end(c); err != nil {
				errs = append(errs, err)
			}
		}
		it = next
	}
	errs = append(errs, c.pairs()...)
	return c, diag.Join("checking the chain of "+first.Ref.String(), errs)
}

// next returns the executor of it, nil if it is a primitive or names none.
func (e *Executor) next(
	ctx context.Context,
	c *Chain,
	it *resolve.Item,
) (*resolve.Item, error) {
	if it.Meta.ExecutorID == "" {
		return nil, nil
	}
	ref, err := item.ParseRef(it.Meta.ExecutorID, item.Tool)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(c.Elements, func(el *resolve.Item) bool { return el.Ref == ref }) {
		return nil, diag.New(
			diag.CircularDependency,
			"walking the chain of %s: %s leads back to %s",
			c.Tool().Ref,
			c.path(),
			ref,
		)
	}
	if len(c.Elements) == MaxChain {
		return nil, diag.New(
			diag.ChainTooDeep,
			"walking the chain of %s: %s has %d elements and continues with %s",
			c.Tool().Ref,
			c.path(),
			MaxChain,
			ref,
		)
	}
	next, err := e.p.Resolver.InspectFrom(ctx, ref, it.Root)
	if code := diag.CodeOf(err); code == diag.ExecutorNotFound {
		out := diag.New(code, "%w, named as executor_id by %s in %s", err, it.Ref, it.Root.Label())
		var inner *diag.Error
		_, above := e.p.Resolver.Inspect(ctx, ref)
		if above == nil { // a space that this edge does not search has it
			out = out.
				WithReason("static_edge").
				WithDetail("space", string(it.Root.Space))
		} else if errors.As(err, &inner) && inner.Reason == "nearest" {
			out = out.WithReason("nearest").WithDetail("nearest", inner.Details["nearest"])
		}
		return nil, out
	}
	return next, err
}

func (c *Chain) path() string {
	refs := make([]string, len(c.Elements))
	for i, el := range c.Elements {
		refs[i] = el.Ref.String()
	}
	return strings.Join(refs, " -> ")
}

// Programs returns the programs of this machine or of the project that a valid
// chain would start, and whether programs of the project may run. It asks for no
// consent and starts nothing but a version manager if the runtime names one.
func (e *Executor) Programs(ctx context.Context, c *Chain) ([]Interpreter, error) {
	return e.bodies[c.Primitive().Ref.ID].programs(ctx, c)
}

// lower reports whether an element of space a may depend on one of space b.
func lower(a, b space.Name) bool {
	return b.Rank() >= a.Rank()
}
