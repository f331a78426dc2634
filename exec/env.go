package exec

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// Interpreter is a program that a runtime's env_config found.
type Interpreter struct {
	Owner   item.Ref    `json:"owner"`
	Var     string      `json:"var"`
	Path    string      `json:"path"`
	Local   bool        `json:"local,omitempty"` // inside the project: runs only after consent
	Digest  item.Digest `json:"digest,omitzero"` // of a local one
	Project string      `json:"-"`
}

// environment builds the complete environment: the allow-list, then what the
// elements declare from the primitive to the tool, then rye's own variables.
func (e *Executor) environment(ctx context.Context, p *Plan, cfg *config) error {
	base := proc.Base(e.p.Environ)
	vars := map[string]string{}
	for _, kv := range base {
		k, v, _ := strings.Cut(kv, "=")
		vars[k] = v
	}
	vars["PATH"] = safePath(vars["PATH"], e.p.Project)
	vars["RYE_SELF"], vars["RYE_PROJECT"] = e.p.Self, e.p.Project
	for _, el := range slices.Backward(p.Chain.Elements) {
		if err := e.envConfig(ctx, p, el, vars); err != nil {
			return err
		}
	}
	if err := expandInto(vars, cfg.Env); err != nil {
		return err
	}
	if cfg.ParamEnv != "" {
		paramEnv(vars, cfg.ParamEnv, p.Parameters)
	}
	p.Env = proc.Environ(vars)
	return nil
}

// safePath drops what is relative or lies inside the project, so that a
// repository cannot put a program before the system's.
func safePath(list, project string) string {
	var keep []string
	for _, dir := range filepath.SplitList(list) {
		if filepath.IsAbs(dir) && !within(dir, project) {
			keep = append(keep, dir)
		}
	}
	return strings.Join(keep, string(os.PathListSeparator))
}

// within reports whether path lies in dir, compared by component.
func within(path, dir string) bool {
	if dir == "" {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func (e *Executor) envConfig(ctx context.Context, p *Plan, el *resolve.Item, vars map[string]string) error {
	ec := el.Meta.EnvConfig
	if ic, ok := ec["interpreter"].(map[string]any); ok {
		in, err := e.interpreter(ctx, el, ic, vars)
		if err != nil {
			return err
		}
		vars[in.Var] = in.Path
		p.Interpreters = append(p.Interpreters, in)
	}
	env, ok := ec["env"].(map[string]any)
	if !ok {
		return nil
	}
	texts, all := textMap(env)
	if !all {
		return diag.New(diag.ConfigError, "reading env_config.env of %s: every value must be a text", el.Ref)
	}
	return expandInto(vars, texts)
}

// expandInto expands each value with the variables known before this block.
func expandInto(vars, add map[string]string) error {
	before := maps.Clone(vars)
	for _, k := range slices.Sorted(maps.Keys(add)) {
		v, err := tmpl.Expand(add[k], before, nil)
		if err != nil {
			return diag.New(diag.ConfigError, "filling in environment variable %s: %w", k, err)
		}
		vars[k] = v
	}
	return nil
}

// interpreter finds a program as the runtime's data says. A program inside the
// project needs consent.
func (e *Executor) interpreter(ctx context.Context, el *resolve.Item, ic map[string]any, vars map[string]string) (Interpreter, error) {
	text := func(key string) string { s, _ := ic[key].(string); return s }
	in := Interpreter{Owner: el.Ref, Var: text("var"), Project: e.p.Project}
	if in.Var == "" {
		return in, diag.New(diag.ConfigError, "reading env_config.interpreter of %s: var is missing", el.Ref)
	}
	env := proc.Environ(vars)
	switch kind := text("type"); kind {
	case "venv_python":
		in.Path = e.venv(text("venv_path"))
	case "node_modules":
		in.Path = e.nodeModules(ic)
	case "system_binary", "command":
		in.Path, _ = proc.LookPath(text("binary"), env)
	case "version_manager":
		in.Path = versionManager(ctx, text("manager"), text("binary"), text("version"), e.p.Project, env)
	default:
		return in, diag.New(diag.ConfigError, "reading env_config.interpreter of %s: type %q is not known", el.Ref, kind)
	}
	if in.Path == "" && text("fallback") != "" {
		in.Path, _ = proc.LookPath(text("fallback"), env)
	}
	if in.Path == "" {
		name := text("fallback")
		if name == "" {
			name = text("binary")
		}
		return in, diag.New(diag.ExecutionFailed, "finding the interpreter of %s: %q is not installed", el.Ref, name).
			WithHint("install %s and have it on PATH", name).WithDetail("return_code", 127)
	}
	return in, e.consent(&in)
}

func (e *Executor) consent(in *Interpreter) error {
	if !within(in.Path, e.p.Project) {
		return nil
	}
	in.Local = true
	b, err := os.ReadFile(in.Path)
	if err != nil {
		return diag.New(diag.FileSystemError, "reading interpreter %s: %w", in.Path, err)
	}
	in.Digest = item.DigestOf(b)
	if e.p.Consent == nil {
		return diag.New(diag.ConsentRequired, "running %s: an interpreter of the project needs consent", in.Path)
	}
	return e.p.Consent(*in)
}

func (e *Executor) venv(dir string) string {
	if dir == "" {
		dir = ".venv"
	}
	names := []string{"bin/python", "bin/python3"}
	if runtime.GOOS == "windows" {
		names = []string{"Scripts/python.exe"}
	}
	return e.firstFile(dir, names)
}

func (e *Executor) nodeModules(ic map[string]any) string {
	list, _ := ic["search_paths"].([]any)
	names := []string{"node"}
	if runtime.GOOS == "windows" {
		names = []string{"node.exe"}
	}
	for _, dir := range textList(list) {
		if p := e.firstFile(dir, names); p != "" {
			return p
		}
	}
	return ""
}

// firstFile returns the first name that exists below a folder of the project.
func (e *Executor) firstFile(dir string, names []string) string {
	for _, name := range names {
		p := filepath.Join(e.p.Project, filepath.FromSlash(dir), filepath.FromSlash(name))
		if fi, err := os.Stat(p); err == nil && fi.Mode().IsRegular() && within(p, e.p.Project) {
			return p
		}
	}
	return ""
}

// versionManager asks pyenv, nvm, rbenv or asdf where a version lives; "" when
// it does not know.
func versionManager(ctx context.Context, manager, binary, version, dir string, env []string) string {
	argv := []string{manager, "which", binary}
	if version != "" {
		env = append(slices.Clone(env), strings.ToUpper(manager)+"_VERSION="+version)
	}
	res, err := proc.Run(ctx, proc.Cmd{Argv: argv, Dir: dir, Env: env, Timeout: 5 * time.Second})
	if err != nil || res.ExitCode != 0 {
		return ""
	}
	return strings.TrimSpace(string(res.Stdout))
}

// maxParamEnv bounds a variable that carries a parameter: no system takes a
// longer one. What does not fit arrives on stdin alone.
const maxParamEnv = 128<<10 - 1

// paramEnv adds every scalar parameter as PREFIX + NAME. Of two names that give
// one variable the later in order of bytes counts.
func paramEnv(vars map[string]string, prefix string, params map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		switch v := params[name].(type) {
		case string, bool, int64, float64:
			key, text := prefix+envName(name), fmt.Sprint(v)
			if len(key)+1+len(text) < maxParamEnv {
				vars[key] = text
			}
		}
	}
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
