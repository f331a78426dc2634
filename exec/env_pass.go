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
// env_config.pass, such as an API key. Only this chain receives them. They
// override the project's .env, which is not signed.
func (e *Executor) pass(ec *envConfig, vars map[string]string) {
	for _, name := range ec.pass {
		if v, set := proc.Lookup(e.p.Environ, name); set {
			vars[name] = v
		}
	}
}

// passed returns the names of the caller's variables that a chain passes on. The
// variables of .env are included for a primitive that can send them elsewhere;
// a program could read that file itself.
func (e *Executor) passed(c *Chain) []string {
	sendsDotenv := e.bodies[c.Primitive().Ref.ID].sendsDotenv()
	var out []string
	for _, el := range c.Elements {
		ec := readEnvConfig(fieldsOf(el)) // environment reports its errors
		out = append(out, ec.pass...)
		if ec.dotenv && sendsDotenv {
			out = append(out, "the variables of .env")
		}
	}
	return out
}

// mayPass returns nil if the chain passes no variable on, or if each item may
// decide where variables go (resolve.Resolver.Provider). Items are elements of
// the chain or files that it uses.
func (e *Executor) mayPass(c *Chain, items ...*resolve.Item) error {
	names := e.passed(c)
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
