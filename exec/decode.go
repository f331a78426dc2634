package exec

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/resolve"
)

// fieldsOf returns a Reader of the metadata of an item.
func fieldsOf(it *resolve.Item) *tree.Reader {
	return tree.NewReader(
		&tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos},
		diag.ConfigError,
	)
}

// decodeError returns the findings of a Reader of an item as one error, or nil.
func decodeError(doing string, it *resolve.Item, r *tree.Reader) error {
	return diag.FromFindings(doing, diag.WithPath(r.Findings(), it.Path()))
}

// envConfig is the env_config of an element.
type envConfig struct {
	dotenv      *dotenvNames       // nil: .env is not read
	pass        []string           // names of the caller's variables
	interpreter *interpreterConfig // nil without one
	env         map[string]string  // templates by variable
}

// interpreterConfig is how an element finds its interpreter.
type interpreterConfig struct {
	kind, variable           string
	venvPath                 string
	searchPaths              []string
	binary, manager, version string
	fallback                 string
	project                  string   // auto, always, never; "" in an element that does not set it
	stdlib                   []string // modules that the fallback has
}

// readEnvConfigs decodes the env_config of each element of a chain.
func readEnvConfigs(c *Chain) ([]*envConfig, error) {
	var errs []error
	out := make([]*envConfig, len(c.Elements))
	for i, el := range c.Elements {
		fields := fieldsOf(el)
		out[i] = readEnvConfig(fields)
		err := decodeError("reading env_config of "+el.Ref.String(), el, fields)
		if err != nil {
			errs = append(errs, err)
		}
	}
	refineInterpreter(out)
	return out, diag.Join("reading env_config of the chain of "+c.Tool().Ref.String(), errs)
}

// refineInterpreter applies an interpreter of a child that has no type to the
// interpreter of the nearest executor: a tool can demand the project's interpreter
// without a repetition of its runtime.
func refineInterpreter(envs []*envConfig) {
	for i, ec := range envs {
		ic := ec.interpreter
		if ic == nil || ic.kind != "" {
			continue
		}
		ec.interpreter = nil
		for _, executor := range envs[i+1:] {
			if to := executor.interpreter; to != nil {
				to.project = cmp.Or(ic.project, to.project)
				to.venvPath = cmp.Or(ic.venvPath, to.venvPath)
				break
			}
		}
	}
}

// readEnvConfig decodes an env_config. It ignores other keys: items written for
// the Python version of rye have some.
func readEnvConfig(fields *tree.Reader) *envConfig {
	r := fields.Map("env_config")
	ec := &envConfig{
		dotenv: readDotenvNames(r),
		pass:   r.Texts("pass", checkPass),
		env:    r.TextMap("env"),
	}
	if r.Has("interpreter") {
		ec.interpreter = readInterpreter(r.Map("interpreter"))
	}
	return ec
}

func readInterpreter(r *tree.Reader) *interpreterConfig {
	if r.Has("type") || !r.Has("project") && !r.Has("venv_path") {
		r.Require("type", "var")
	}
	return &interpreterConfig{
		kind: r.Enum("type", "", "venv_python", "node_modules", "system_binary", "command", "version_manager"),
		variable: r.TextFunc("var", func(s string) error {
			if msg := badName(s); s != "" && msg != "" {
				return errors.New(msg)
			}
			return nil
		}),
		venvPath:    r.Text("venv_path"),
		searchPaths: r.Texts("search_paths", nil),
		binary:      r.Text("binary"),
		manager: r.TextFunc("manager", func(s string) error {
			if strings.ContainsAny(s, `/\`) {
				return errors.New("it must be a name on PATH, not a path")
			}
			return nil
		}),
		version:  r.Text("version"),
		fallback: r.Text("fallback"),
		project:  r.Enum("project", "", projectAuto, projectAlways, projectNever),
		stdlib:   r.Texts("stdlib_modules", nil),
	}
}

// checkPass refuses variables that choose the code that programs load, and
// rye's own settings.
func checkPass(name string) error {
	if msg := badName(name); msg != "" {
		return fmt.Errorf("%q: %s", name, msg)
	}
	if proc.IsLoaderVar(name) || strings.HasPrefix(strings.ToUpper(name), "RYE_") {
		return fmt.Errorf("%q may not be passed: it chooses the code that programs load, or it is a setting of rye", name)
	}
	return nil
}
