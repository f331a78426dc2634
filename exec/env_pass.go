package exec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/resolve"
)

// pass adds the variables of the caller's environment that an element names in
// env_config.pass, such as the key of a service. They reach this chain and no
// other, and they win over an .env that nobody signed.
func (e *Executor) pass(ec map[string]any, vars map[string]string) {
	list, _ := ec["pass"].([]any)
	for _, name := range textList(list) {
		if v, set := proc.Lookup(e.p.Environ, name); set {
			vars[name] = v
		}
	}
}

// handed returns the names of the variables of the caller that the elements of a
// chain hand on. A request takes what the project's .env holds elsewhere too; a
// program could read that file by itself.
func (c *Chain) handed() []string {
	var out []string
	for _, el := range c.Elements {
		list, _ := el.Meta.EnvConfig["pass"].([]any)
		out = append(out, textList(list)...)
		if on, _ := el.Meta.EnvConfig["dotenv"].(bool); on && c.Primitive().Ref.ID == HTTPClient {
			out = append(out, "what .env holds")
		}
	}
	return out
}

// mayHand returns nil when nothing of the caller's environment is handed on, or
// when each of the items, all of which have a say in where it goes, may decide
// that: elements of the chain, or what it uses besides.
func (e *Executor) mayHand(c *Chain, items ...*resolve.Item) error {
	names := c.handed()
	if len(names) == 0 {
		return nil
	}
	if more := len(names) - 3; more > 0 {
		names = append(names[:3], fmt.Sprintf("%d more", more))
	}
	handing := "handing " + strings.Join(names, ", ") + " on to "
	var errs []error
	for _, it := range items {
		doing := handing + it.Ref.String()
		if !slices.Contains(c.Elements, it) {
			doing = handing + c.Tool().Ref.String() + ", which uses " + it.Path()
		}
		if err := e.p.Resolver.Provider(it, doing); err != nil {
			errs = append(errs, err)
		}
	}
	return diag.Join("handing variables on to "+c.Tool().Ref.String(), errs)
}

// badPass says why env_config.pass does not fit, or "". What chooses the code
// that programs load, and rye's own settings, are never handed on.
func badPass(v any) string {
	list, ok := v.([]any)
	names := textList(list)
	if !ok || len(names) != len(list) {
		return "must be a list of names of variables"
	}
	for _, name := range names {
		if msg := badName(name); msg != "" {
			return "names " + name + ": " + msg
		}
		if proc.IsLoaderVar(name) || strings.HasPrefix(strings.ToUpper(name), "RYE_") {
			return "names " + name + ", which is never handed on: it chooses what code programs load, or it is a setting of rye"
		}
	}
	return ""
}
