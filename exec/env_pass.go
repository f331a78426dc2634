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
// env_config.pass, such as an API key, else the key that the user stored. Only this
// chain receives them. They override the project's .env, which is not signed.
//
// No other variable of the caller is passed. The HTTP primitive and the web search remove the
// values from results and errors; the output of another program is not filtered.
//
// The author of the address decides where a token goes: items of the system, of the user's own
// key (not an agent's) and of providers get variables. The space of the item is irrelevant.
func (e *Executor) pass(p *Plan, ec *envConfig, vars map[string]string) {
	for _, name := range ec.pass {
		v, set := proc.Lookup(e.p.Environ, name)
		if stored, ok := p.keys[name]; ok && v == "" {
			v = stored
			set = true
		}
		if set {
			vars[name] = v
		}
	}
}

// storedKeys returns the keys that the user stored for the service of a tool that calls
// models. Other tools receive what is in the environment only: the user stored the keys
// for rye, not for programs.
func (e *Executor) storedKeys(p *Plan) (map[string]string, error) {
	t := p.Chain.Tool()
	if e.p.Keys == nil || t.Meta.ToolType != ProviderType {
		return nil, nil
	}
	declared, _ := t.Meta.Fields["provider"].(map[string]any)
	list, _ := declared["keys"].([]any)
	var names []string
	for _, name := range list {
		if s, ok := name.(string); ok {
			names = append(names, s)
		}
	}
	return e.p.Keys(names)
}

// passed returns the names of the caller's variables that a chain passes on. The
// variables of .env are included for a primitive that can send them elsewhere;
// a program could read that file itself.
func (e *Executor) passed(p *Plan) []string {
	sendsDotenv := e.bodies[p.Chain.Primitive().Ref.ID].sendsDotenv()
	var out []string
	for _, ec := range p.envs {
		out = append(out, ec.pass...)
		if ec.dotenv != nil && sendsDotenv {
			out = append(out, "the variables of .env")
		}
	}
	return out
}

// mayPass returns nil if the chain passes no variable on, or if each item may
// decide where variables go (resolve.Resolver.Provider). Items are elements of
// the chain or files that it uses.
//
// No item may pass variables that begin with RYE_.
func (e *Executor) mayPass(p *Plan, items ...*resolve.Item) error {
	c := p.Chain
	names := e.passed(p)
	if len(names) == 0 {
		return nil
	}
	if more := len(names) - 3; more > 0 {
		names = append(names[:3], fmt.Sprintf("%d more", more))
	}
	passing := "passing " + strings.Join(names, ", ") + " to "
	var errs []error
	for _, it := range items {
		doing := passing + it.Ref.String()
		if !slices.Contains(c.Elements, it) {
			doing = passing + c.Tool().Ref.String() + ", which uses " + it.Path()
		}
		if err := e.p.Resolver.Provider(it, doing); err != nil {
			errs = append(errs, err)
		}
	}
	return diag.Join("passing variables to "+c.Tool().Ref.String(), errs)
}
