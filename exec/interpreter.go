package exec

import (
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// Interpreter is a program that a runtime's env_config names, or the command
// itself if it is in the project.
type Interpreter struct {
	Owner   string      `json:"owner"`         // ref of the element that names it
	Var     string      `json:"var,omitempty"` // "" for the command itself
	Path    string      `json:"path"`
	Local   bool        `json:"local,omitempty"`   // inside the project: runs only after consent
	Digest  item.Digest `json:"digest,omitzero"`   // of a local one, see DigestProgram
	Missing string      `json:"missing,omitempty"` // name of a program that was not found; Path is empty then
	Refused string      `json:"refused,omitempty"` // why a local one may not run, only from Programs
	Tool    string      `json:"tool,omitempty"`    // ref of the tool that needs a local one
	Modules []string    `json:"modules,omitempty"` // that the tool imports and the fallback may not have
	Project string      `json:"-"`
}

// interpreter finds the program that ic describes. A program inside the project
// needs consent.
func (e *Executor) interpreter(
	ctx context.Context,
	p *Plan,
	el *resolve.Item,
	ic *interpreterConfig,
	vars map[string]string,
) (Interpreter, error) {
	in := Interpreter{Owner: el.Ref.String(), Var: ic.variable, Project: e.p.Project}
	env := proc.Environ(vars)
	switch ic.kind {
	case "venv_python":
		if p.inline == nil {
			in.Path = e.venv(ic.venvPath)
		} else {
			in.Path = p.inline.python
		}
	case "node_modules":
		in.Path = e.nodeModules(ic.searchPaths)
	case "system_binary", "command":
		in.Path, _ = findProgram(ic.binary, env)
	case "version_manager":
		in.Path = e.versionManager(ctx, el.Ref, ic, env)
	}
	if in.Path != "" &&
		p.inline == nil &&
		(ic.kind == "venv_python" || ic.kind == "node_modules") {
		var needs bool
		in.Tool = p.Chain.Tool().Ref.String()
		if in.Modules, needs = e.needsProject(ctx, p.Chain, ic); !needs {
			in.Path = ""
			in.Tool = ""
		}
	}
	if in.Path == "" && ic.fallback != "" {
		in.Path, _ = findProgram(ic.fallback, env)
	}
	if in.Path == "" {
		name := cmp.Or(ic.fallback, ic.binary)
		return in, diag.New(diag.ExecutionFailed, "finding the interpreter of %s: %q is not installed", el.Ref, name).
			WithReason("not_installed").WithDetail("return_code", 127).WithDetail("program", name)
	}
	in.Path = absolute(in.Path, e.p.Dir)
	return in, e.consent(&in)
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// consent asks whether a program in the project may run. A program elsewhere needs
// no consent: an attacker who can change it can change rye too.
func (e *Executor) consent(in *Interpreter) error {
	if !inside(in.Path, e.p.Project) &&
		!(e.seesOther() && inside(in.Path, e.p.Dir)) {
		return nil
	}
	in.Local = true
	var err error
	if in.Digest, err = DigestProgram(in.Path); err != nil {
		return diag.New(diag.FileSystemError, "reading interpreter %s: %w", in.Path, err)
	}
	if e.p.Consent == nil {
		return diag.New(diag.ConsentRequired, "running %s: a program of the project needs consent", in.Path)
	}
	return e.p.Consent(*in)
}

// program returns the absolute path of the command. If it is in the project and
// not an interpreter that has consent, it needs consent.
func (e *Executor) program(p *Plan, command string) (string, error) {
	path, err := proc.LookPath(command, p.Env)
	if err != nil {
		return "", err
	}
	path = absolute(path, p.Dir)
	if path == e.p.Self ||
		slices.ContainsFunc(p.Interpreters, func(in Interpreter) bool { return in.Path == path }) {
		return path, nil
	}
	in := Interpreter{Owner: p.Chain.Tool().Ref.String(), Path: path, Project: e.p.Project}
	if err := e.consent(&in); err != nil {
		return "", err
	}
	if in.Local {
		p.Interpreters = append(p.Interpreters, in)
	}
	return path, nil
}

// seesOther reports whether the tools work outside of the project's directory: in a
// copy of it, or outside of projects.
func (e *Executor) seesOther() bool {
	return e.p.Boundary.Copy || e.p.Project == "" && e.p.Boundary.Project != ""
}

// DigestFile hashes a regular file of any size; links are followed.
func DigestFile(path string) (d item.Digest, err error) {
	if fi, err := os.Stat(path); err != nil {
		return d, err
	} else if !fi.Mode().IsRegular() {
		return d, diag.New(diag.NotRegular, "reading %s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return d, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return d, err
	}
	h.Sum(d[:0])
	return d, nil
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

func (e *Executor) nodeModules(dirs []string) string {
	names := []string{"node"}
	if runtime.GOOS == "windows" {
		names = []string{"node.exe"}
	}
	for _, dir := range dirs {
		if p := e.firstFile(dir, names); p != "" {
			return p
		}
	}
	return ""
}

// firstFile returns the first name that exists below a directory of the project,
// "" without one.
func (e *Executor) firstFile(dir string, names []string) string {
	if e.p.Project == "" {
		return ""
	}
	for _, name := range names {
		p := filepath.Join(e.p.Project, filepath.FromSlash(dir), filepath.FromSlash(name))
		fi, err := os.Stat(p)
		if err == nil &&
			fi.Mode().IsRegular() &&
			within(p, e.p.Project) {
			return p
		}
	}
	return ""
}

// versionManager returns the path that pyenv, rbenv or asdf reports for a program,
// or "". It is the only program that planning starts.
func (e *Executor) versionManager(
	ctx context.Context,
	ref item.Ref,
	ic *interpreterConfig,
	env []string,
) string {
	if ic.version != "" {
		env = append(slices.Clone(env), strings.ToUpper(ic.manager)+"_VERSION="+ic.version)
	}
	manager, err := proc.LookPath(ic.manager, env)
	if err != nil {
		return ""
	}
	cmd := proc.Cmd{
		Path:    absolute(manager, e.p.Dir),
		Argv:    []string{ic.manager, "which", ic.binary},
		Dir:     e.p.Dir,
		Env:     env,
		Timeout: 5 * time.Second,
	}
	c := &Confinement{Profile: managerProfile()}
	e.locate(c, ref, ic.manager, []string{cmd.Path}, env)
	_, finish, err := e.confined(ctx, c, &cmd)
	if err != nil {
		return ""
	}
	res, err := proc.Run(ctx, cmd)
	if err != nil {
		_ = finish(nil)
		return ""
	}
	if err := finish(&res); err != nil || res.ExitCode != 0 {
		return ""
	}
	path := strings.TrimSpace(string(res.Stdout))
	fi, err := os.Stat(path)
	if err != nil || !filepath.IsAbs(path) || !fi.Mode().IsRegular() {
		return ""
	}
	return path
}

// managerProfile returns the sandbox of a version manager: a script that starts
// programs, and reads the versions that the project and the user selected.
// No class applies to a version manager: the runtime names it. It reads the project, its own
// directories and lists of versions, writes temporary files, and has no network.
func managerProfile() policy.Profile {
	return policy.Profile{
		Read:   &[]string{"{project}", "~/.tool-versions", "~/.asdfrc", "~/.asdf", "~/.pyenv", "~/.rbenv"},
		Write:  &[]string{"{tmp}"},
		Net:    policy.NetNone,
		Exec:   &[]string{policy.ExecAny},
		Limits: policy.Limits{}.WithDefaults(),
	}.Normal()
}
