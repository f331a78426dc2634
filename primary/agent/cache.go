package agent

import (
	"context"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// Cache keeps the definitions of the verbs and their compiled schemas. They are
// embedded in the program, so they are verified and compiled once per process. The
// zero value is empty; a nil Cache keeps nothing.
type Cache struct {
	mu      sync.Mutex
	items   map[string]*resolve.Item
	schemas map[string]compiled // by verb and kinds
}

// compiled is the schema of a verb's arguments.
type compiled struct {
	props  map[string]any
	schema *schema.Schema
}

// own returns the embedded item of a verb.
func (w *Workspace) own(ctx context.Context, name string) (*resolve.Item, error) {
	if it := w.Cache.item(name); it != nil {
		return it, nil
	}
	it, _, _, err := w.verbItems(ctx, name)
	if err == nil && it.Root.Embedded() {
		w.Cache.keepItem(name, it)
	}
	return it, err
}

// compiled returns the schema of a verb's arguments. It depends on the kinds of the
// project.
func (w *Workspace) compiled(ctx context.Context, name string) (compiled, error) {
	own, err := w.own(ctx, name)
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
	if c, ok := w.Cache.get(key); ok && own.Root.Embedded() {
		return c, nil
	}
	c := compiled{props: w.schemaOf(own, kinds)}
	var fs []diag.Finding
	c.schema, fs = schema.Compile(c.props)
	if err := diag.FromFindings("reading the schema of "+own.Ref.String(), fs); err != nil {
		return compiled{}, err
	}
	if own.Root.Embedded() {
		w.Cache.keep(key, c)
	}
	return c, nil
}

// verbRef returns the ref of a verb's item.
func verbRef(name string) item.Ref { return item.Ref{Kind: item.Tool, ID: "rye/primary/" + name} }

func (c *Cache) item(name string) *resolve.Item {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.items[name]
}

func (c *Cache) keepItem(name string, it *resolve.Item) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items == nil {
		c.items = map[string]*resolve.Item{}
	}
	c.items[name] = it
}

func (c *Cache) get(key string) (compiled, bool) {
	if c == nil {
		return compiled{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out, ok := c.schemas[key]
	return out, ok
}

// maxSchemas bounds the schemas that a server keeps: each project may declare kinds.
const maxSchemas = 256

func (c *Cache) keep(key string, s compiled) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schemas == nil || len(c.schemas) >= maxSchemas {
		c.schemas = map[string]compiled{}
	}
	c.schemas[key] = s
}
