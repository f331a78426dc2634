// Package exec runs a tool: it walks the chain from the tool to a primitive,
// validates it, puts the verified bytes where the program can read them and
// hands a fully resolved command to the primitive.
//
// It asks resolve for every element, so that nothing runs that was not judged.
// It decides no permission (policy) and knows no command line.
package exec

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cas"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// MaxChain is the largest number of elements of a chain.
const MaxChain = 10

// Params says what an Executor works with. Resolver and Cache are required.
type Params struct {
	Resolver    *resolve.Resolver
	Cache       string   // folder of the content-addressed store
	Project     string   // the project's folder, absolute; "" without one
	Dir         string   // the tools' working directory, absolute; "" is Project
	UserSpace   string   // folder that holds the user's .ai, "" when unknown
	SystemSpace string   // installed system space, "" when embedded only
	Environ     []string // the environment the allow-list is taken from; nil is empty
	Self        string   // this executable, for applets
	// Consent says whether a program of the project itself may run. Nil means
	// never.
	Consent func(Interpreter) error
	// Lock is the project's lock, nil when there is none. A tool of the project
	// that it names runs as it was locked or not at all.
	Lock   *lock.Lock
	System func() lock.System // the system bundle of this program; nil is none
	Locked bool               // what the lock does not name is refused too
	// Grace is how long a program may take to end that was told to. Zero means
	// proc.DefaultGrace.
	Grace time.Duration
	// Natives are the functions that tools on NativeStep name in config.func.
	Natives map[string]Native
	Now     func() time.Time // nil means time.Now
}

// Executor builds and runs chains. It is safe for concurrent use.
type Executor struct {
	p      Params
	store  *cas.Store
	bodies map[string]body // by the primitive's id
}

// New returns an Executor over p.
func New(p Params) *Executor {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Dir == "" {
		p.Dir = p.Project
	}
	e := &Executor{p: p, store: &cas.Store{Dir: p.Cache, Now: p.Now}}
	e.bodies = bodies(e)
	return e
}

// Chain is a tool and what executes it, ending in a primitive. Every element
// was verified and every adjacent pair was validated.
type Chain struct {
	Elements []*resolve.Item
}

// Tool returns the first element.
func (c *Chain) Tool() *resolve.Item { return c.Elements[0] }

// Primitive returns the last element.
func (c *Chain) Primitive() *resolve.Item { return c.Elements[len(c.Elements)-1] }

// Chain resolves, verifies and validates the chain of a tool and holds it
// against the lock. When it fails, the error carries every finding of every
// element that could be read.
func (e *Executor) Chain(ctx context.Context, ref item.Ref) (*Chain, error) {
	c, err := e.Walk(ctx, ref)
	if err == nil {
		err = e.pinned(c)
	}
	return c, err
}

// Walk is Chain without the lock, for who writes one. A tool runs by Chain only.
func (e *Executor) Walk(ctx context.Context, ref item.Ref) (*Chain, error) {
	first, err := e.p.Resolver.Inspect(ctx, ref)
	if err != nil {
		return nil, err
	}
	c := &Chain{Elements: []*resolve.Item{first}}
	var errs []error
	for it := first; it != nil; {
		bad := it.Usable()
		if bad != nil {
			errs = append(errs, bad)
		}
		next, err := e.next(ctx, c, it)
		switch {
		case err != nil:
			errs, next = append(errs, err), nil
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
	return c, diag.Join("checking the chain of "+ref.String(), errs)
}

// next returns the executor of it, nil when it is a primitive or names none.
func (e *Executor) next(ctx context.Context, c *Chain, it *resolve.Item) (*resolve.Item, error) {
	if it.Meta.ExecutorID == "" {
		return nil, nil
	}
	ref, err := item.ParseRef(it.Meta.ExecutorID, item.Tool)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(c.Elements, func(el *resolve.Item) bool { return el.Ref == ref }) {
		return nil, diag.New(diag.CircularDependency, "walking the chain of %s: %s leads back to %s", c.Tool().Ref, c.path(), ref)
	}
	if len(c.Elements) == MaxChain {
		return nil, diag.New(diag.ChainTooDeep, "walking the chain of %s: %s has %d elements and goes on to %s", c.Tool().Ref, c.path(), MaxChain, ref)
	}
	next, err := e.p.Resolver.InspectFrom(ctx, ref, it.Root)
	if code := diag.CodeOf(err); code == diag.ExecutorNotFound {
		return nil, diag.New(code, "%w, named as executor_id by %s in %s", err, it.Ref, it.Root.Label()).WithReason("static_edge").
			WithDetail("space", string(it.Root.Space))
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
// chain would start, and whether those of the project may run. It asks for no
// consent and starts nothing but a version manager if the runtime names one.
func (e *Executor) Programs(ctx context.Context, c *Chain) ([]Interpreter, error) {
	return e.bodies[c.Primitive().Ref.ID].programs(ctx, c)
}

// lower reports whether an element of space a may depend on one of space b.
func lower(a, b space.Name) bool { return b.Rank() >= a.Rank() }
