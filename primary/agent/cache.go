package agent

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/once"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// Cache keeps the definitions of the verbs and their compiled schemas. They are
// embedded in the program, so they are verified and compiled once per process.
type Cache struct {
	items   once.Map[string, *resolve.Item]
	schemas once.Map[string, compiled] // by verb and kinds
}

// maxSchemas bounds the schemas that a server keeps: each project may declare kinds.
const maxSchemas = 256

// NewCache returns an empty cache. A nil one keeps nothing.
func NewCache() *Cache {
	return &Cache{schemas: once.Map[string, compiled]{Max: maxSchemas}}
}

// compiled is the schema of a verb's arguments.
type compiled struct {
	props  map[string]any
	schema *schema.Schema
}

// own returns the embedded item of a verb.
func (w *Workspace) own(ctx context.Context, name string) (*resolve.Item, error) {
	find := func(*resolve.Item) (*resolve.Item, error) {
		it, _, _, err := w.verbItems(ctx, name)
		return it, err
	}
	if w.Cache == nil {
		return find(nil)
	}
	return w.Cache.items.GetFact(ctx, name, once.Fact[*resolve.Item]{
		Find: find,
		// The file of an item that replaces the embedded one may change.
		Valid: func(it *resolve.Item) bool {
			return it.Root.Embedded()
		},
	})
}

// compiled returns the schema of a verb's arguments. It depends on the kinds of the
// project.
func (w *Workspace) compiled(ctx context.Context, name string) (compiled, error) {
	verb, err := w.own(ctx, name)
	if err != nil {
		return compiled{}, err
	}
	kinds := w.kinds(ctx)
	key := name + " " + strings.Join(kinds, " ")
	if w.InThread {
		key += " thread"
	}
	if w.pinned() {
		key += " " + search.RegistrySpace
	}
	compile := func() (compiled, error) {
		c := compiled{props: w.schemaOf(verb, kinds)}
		var fs []diag.Finding
		c.schema, fs = schema.Compile(c.props)
		return c, diag.FromFindings("reading the schema of "+verb.Ref.String(), fs)
	}
	if w.Cache == nil || !verb.Root.Embedded() {
		return compile()
	}
	return w.Cache.schemas.Get(ctx, key, compile)
}

// verbRef returns the ref of a verb's item.
func verbRef(name string) item.Ref {
	return item.Ref{Kind: item.Tool, ID: "rye/primary/" + name}
}
