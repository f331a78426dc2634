package exec

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// environment returns the complete environment: the allow-list, then the variables
// that the elements declare, from the primitive to the tool. No element overrides
// a variable that rye sets.
func (e *Executor) environment(
	ctx context.Context,
	p *Plan,
	cfg *config,
) (map[string]string, error) {
	if err := e.mayPass(p, p.Chain.Elements...); err != nil {
		return nil, err
	}
	var err error
	if p.keys, err = e.storedKeys(p); err != nil {
		return nil, err
	}
	vars := map[string]string{}
	for _, kv := range proc.Base(e.p.Environ) {
		k, v, _ := strings.Cut(kv, "=")
		vars[k] = v
	}
	vars["PATH"] = e.paths.Path(vars["PATH"], e.p.Project)
	vars[selfVar] = e.p.Self
	vars[projectVar] = e.p.Dir
	if p.Thread != "" {
		vars[threadVar] = p.Thread
	}
	if p.Key != "" && p.Chain.Tool().Meta.Fields["idempotency"] == "key" {
		vars[idempotencyVar] = p.Key
	}
	for i, ec := range slices.Backward(p.envs) {
		err := e.addEnv(ctx, p, p.Chain.Elements[i], ec, vars)
		if err != nil {
			return nil, err
		}
	}
	if err := expandInto(vars, cfg.Env); err != nil {
		return nil, err
	}
	if cfg.ParamEnv != "" {
		if err := paramEnv(vars, cfg.ParamEnv, p.Parameters); err != nil {
			return nil, err
		}
	}
	return vars, nil
}

const (
	// selfVar names the variable with the path of this program. Templates of
	// commands may use it; programs do not receive it.
	selfVar = "RYE_SELF"
	// projectVar names the variable with the project's directory.
	projectVar = "RYE_PROJECT"
	// idempotencyVar names the variable with the key of a call, which is equal when
	// the call is repeated after a crash. Tools with idempotency: key receive it.
	idempotencyVar = "RYE_IDEMPOTENCY_KEY"
)

// threadVar names the variable with the id of the thread that runs the program.
const threadVar = "RYE_THREAD_ID"

// exported returns the variables that a program receives.
func exported(vars map[string]string) []string {
	out := maps.Clone(vars)
	delete(out, selfVar)
	return proc.Environ(out)
}

// inside reports whether an absolute path is in the project, as it is spelled or
// with all links followed. A project at the root of the file system contains no
// path: every program of the machine would need consent.
func inside(path, project string) bool {
	return insideOf(path, project, real(project))
}

// insideOf is inside with the links of the project followed before.
func insideOf(path, project, at string) bool {
	if project == "" || filepath.Dir(project) == project {
		return false
	}
	return within(path, project) || within(real(path), at)
}

func real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}

// within reports whether path is dir or below it, compared by component, and
// ignoring case where most file systems do.
func within(path, dir string) bool {
	if runtime.GOOS == "darwin" { // on Windows filepath.Rel does so itself
		path = strings.ToLower(path)
		dir = strings.ToLower(dir)
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil &&
		rel != ".." &&
		!strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// addEnv adds the variables that one element declares. Each step may use the
// variables of the steps before it, and env comes last so that it can use all.
func (e *Executor) addEnv(
	ctx context.Context,
	p *Plan,
	el *resolve.Item,
	ec *envConfig,
	vars map[string]string,
) error {
	if ec.dotenv != nil {
		err := e.dotenv(el, ec.dotenv.among(p.envs), vars)
		if err != nil {
			return err
		}
	}
	if ec.interpreter != nil {
		in, err := e.interpreter(ctx, p, el, ec.interpreter, vars)
		if err != nil {
			return err
		}
		vars[in.Var] = in.Path
		p.Interpreters = append(p.Interpreters, in)
	}
	e.pass(p, ec, vars)
	return expandInto(vars, ec.env)
}

// expandInto expands each value with the variables known before this block.
func expandInto(vars, add map[string]string) error {
	before := maps.Clone(vars)
	for _, k := range slices.Sorted(maps.Keys(add)) {
		if msg := badName(k); msg != "" {
			return diag.New(diag.ConfigError, "filling in environment variable %q: %s", k, msg)
		}
		v, err := tmpl.Expand(add[k], before, nil)
		if err != nil {
			return diag.New(diag.ConfigError, "filling in environment variable %s: %w", k, err)
		}
		vars[k] = v
	}
	return nil
}

// badName returns why an element may not declare a variable of that name, or "".
func badName(name string) string {
	if envName(name) != strings.ToUpper(name) ||
		name == "" ||
		name[0] >= '0' && name[0] <= '9' {
		return "a name is letters, digits and _"
	}
	switch strings.ToUpper(name) { // names of variables ignore case on Windows
	case selfVar, projectVar, threadVar, idempotencyVar, brokerVar, settingsVar, policy.BoundaryVar:
		return "only rye sets it"
	}
	return ""
}

// maxParamEnv is the largest variable for a parameter, in bytes with its name: the
// limit of Linux for one string. A longer parameter is on stdin only.
const maxParamEnv = 128<<10 - 1

// paramEnv adds every scalar parameter as PREFIX + NAME. If two names give one
// variable, the later in byte order is used. A parameter that would replace
// another variable, or choose the code that programs load, is an error.
func paramEnv(vars map[string]string, prefix string, params map[string]any) error {
	declared := maps.Clone(vars)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		switch v := params[name].(type) {
		case string, bool, int64, float64:
			key := prefix + envName(name)
			text := fmt.Sprint(v)
			_, taken := declared[key]
			if taken || proc.IsLoaderVar(key) || badName(key) != "" {
				return diag.New(diag.ValidationFailed, "passing parameter %q: it may not set environment variable %s", name, key)
			}
			if len(key)+1+len(text) < maxParamEnv && !strings.ContainsRune(text, 0) {
				vars[key] = text
			}
		}
	}
	return nil
}

func envName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, s)
}
