package exec

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/internal/tmpl"
)

// plan puts a tool with the body and plans it.
func plan(h *testkit.Workspace, e *Executor, body string, params map[string]any) (*Plan, error) {
	h.T.Helper()
	h.Put(h.Project, "tools/t.yaml", body)
	c, err := e.Chain(h.T.Context(), tool("t"))
	if err != nil {
		return nil, err
	}
	return e.Plan(h.T.Context(), c, Call{}, params)
}

func direct(more ...string) string { return yaml("script", Subprocess, more...) }

func TestPlan(t *testing.T) {
	h := testkit.New(t)
	p, err := plan(h, executor(h, nil), direct(
		`config: {command: prog, args: ["{params_json}", "{param:a}", "{param:none}", "x{project_path}", "${HOME}", "{nothing}"], timeout: 7, max_output: 99, env: {MINE: "${HOME}/x"}}`),
		map[string]any{"a": "${SECRET} {project_path} `rm`", "n": int64(1)})
	if err != nil {
		t.Fatal(err)
	}
	js := `{"a":"${SECRET} {project_path} ` + "`rm`" + `","n":1}`
	want := []string{"prog", js, "${SECRET} {project_path} `rm`", "x" + h.Project, h.User, "{nothing}"} // TPL-1..3: values are not templates
	if !slices.Equal(p.Argv, want) || string(p.Stdin) != js || p.Dir != h.Project || p.Timeout != 7*time.Second || p.MaxOutput != 99 {
		t.Errorf("%q\n%+v", p.Argv, p)
	}
	if v, _ := proc.Lookup(p.Env, "MINE"); v != h.User+"/x" {
		t.Errorf("MINE=%q", v)
	}
	if _, ok := proc.Lookup(p.Env, "SECRET"); ok {
		t.Error("SECRET reaches the tool")
	}
	if v, _ := proc.Lookup(p.Env, "RYE_PROJECT"); v != h.Project {
		t.Errorf("RYE_PROJECT=%q", v)
	}
}

func TestConfigRefused(t *testing.T) {
	for name, config := range map[string]string{
		"no command": "{args: [a]}", "command no text": "{command: [a]}", "args no list": "{command: prog, args: a}", "arg no text": "{command: prog, args: [1]}",
		"timeout text": `{command: prog, timeout: "5"}`, "timeout 0": "{command: prog, timeout: 0}", "timeout a week": "{command: prog, timeout: 604800}",
		"unknown": "{command: prog, shell: true}", "env no mapping": "{command: prog, env: [A]}", "env no text": "{command: prog, env: {A: 1}}",
		"max_output": "{command: prog, max_output: 0}", "env of rye": "{command: prog, env: {RYE_SELF: /bin/sh}}", "env of Rye": "{command: prog, env: {Rye_Project: /}}",
		"env name": `{command: prog, env: {"A=B": x}}`, "env name empty": `{command: prog, env: {"": x}}`, "open template": `{command: prog, args: ["${A"]}`,
		"param in text": `{command: prog, args: ["x{param:a}"]}`,
	} {
		h := testkit.New(t)
		if _, err := plan(h, executor(h, nil), direct("config: "+config), nil); diag.CodeOf(err) != diag.ConfigError {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A tool's own config may not replace its runtime's command; EXEC-5.
func TestToolCannotReplaceCommand(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.Project, "tools/rt.yaml", yaml("runtime", Subprocess, "config: {command: prog, args: [fixed], timeout: 9, env: {A: runtime}}"))
	p, err := plan(h, executor(h, nil), yaml("script", "rt", "config: {command: evil, args: [x], cwd: /, input_data: x, env: {A: tool}, param_env: LD_, timeout: 5, own: data}"),
		map[string]any{"command": "evil", "args": []any{"evil"}, "env": map[string]any{"A": "evil"}})
	if err != nil {
		t.Fatal(err)
	}
	if a, _ := proc.Lookup(p.Env, "A"); !slices.Equal(p.Argv, []string{"prog", "fixed"}) || p.Dir != h.Project || a != "runtime" || p.Timeout != 5*time.Second || !strings.HasPrefix(string(p.Stdin), `{"args"`) {
		t.Errorf("%q in %s, A=%s, %s, %q", p.Argv, p.Dir, a, p.Timeout, p.Stdin)
	}
}

func TestLargeParameters(t *testing.T) {
	h := testkit.New(t)
	e := executor(h, nil)
	for size, onArgv := range map[int]bool{MaxArgJSON - 1: true, MaxArgJSON: false, 3 * MaxArgJSON: false} {
		value := strings.Repeat("x", size-len(`{"a":""}`))
		p, err := plan(h, e, direct(`config: {command: prog, args: ["--params", "{params_json}"]}`), map[string]any{"a": value})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Stdin) != size || (p.Argv[2] != "-") != onArgv {
			t.Errorf("%d bytes: %d on stdin, argv %.10q", size, len(p.Stdin), p.Argv[2])
		}
	}
}

func TestMaterialised(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.Project, "tools/rt.yaml", yaml("runtime", Subprocess, `config: {command: prog, args: ["{tool_path}", "{tool_dir}"]}`))
	p, err := plan(h, executor(h, nil), yaml("script", "rt"), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(p.Argv[1])
	if err != nil || string(b) != string(p.Chain.Tool().Bytes) || !within(p.Argv[1], h.Cache) || filepath.Dir(p.Argv[1]) != p.Argv[2] {
		t.Errorf("%q, %v", p.Argv, err)
	}
	for _, cache := range []string{"", "relative"} {
		if _, err := plan(h, executor(h, func(p *Params) { p.Cache = cache }), yaml("script", "rt"), nil); diag.CodeOf(err) != diag.ConfigError {
			t.Errorf("cache %q: %v", cache, err)
		}
	}
}

func TestValidateParameters(t *testing.T) {
	h := testkit.New(t)
	e := executor(h, nil)
	schema := "config: {command: prog}\nconfig_schema: {type: object, additionalProperties: false, required: [n], properties: {n: {type: integer, minimum: 1}, d: {type: string, default: x}, l: {type: array, items: {type: string}}}}"
	p, err := plan(h, e, direct(schema), map[string]any{"n": int64(1)})
	if err != nil || p.Parameters["d"] != "x" {
		t.Fatalf("%+v, %v", p, err)
	}
	_, err = plan(h, e, direct(schema), map[string]any{"n": int64(0), "l": []any{"a", int64(1)}, "other": true})
	if fs := diag.FindingsOf(err); diag.CodeOf(err) != diag.ValidationFailed || len(fs) != 3 {
		t.Errorf("%v with %d findings, want three", err, len(fs))
	}
	for _, bad := range []string{"config_schema: {type: objct}", "config_schema: {$ref: \"file:///etc/passwd\"}"} {
		if _, err := plan(h, e, direct("config: {command: prog}", bad), nil); err == nil {
			t.Errorf("%s passes", bad)
		}
	}
	// A schema that is not a mapping is an error: it must not accept everything.
	c := &Chain{Elements: p.Chain.Elements}
	c.Elements[0].Meta.Schema, c.Elements[0].Meta.Fields = nil, map[string]any{"config_schema": "none"}
	if _, err := c.Validate(nil); diag.CodeOf(err) != diag.ConfigError {
		t.Errorf("a schema that is not a mapping: %v", err)
	}
}

// A schema is compiled once for a content, and again when the file has another.
func TestSchemaOnce(t *testing.T) {
	h := testkit.New(t)
	e := executor(h, nil)
	schema := func(kind string) any {
		t.Helper()
		p, err := plan(h, e, direct("config: {command: prog}", "config_schema: {type: object, properties: {a: {type: "+kind+"}}}"), map[string]any{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Schema(p.Chain.Tool())
		if s == nil || err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := schema("string")
	if schema("string") != first {
		t.Error("the schema of the same content is compiled twice")
	}
	if schema("integer") == first {
		t.Error("another content has the schema of the one before")
	}
	if _, err := plan(h, e, direct("config: {command: prog}", "config_schema: {type: object, properties: {a: {type: integer}}}"), map[string]any{"a": "x"}); err == nil {
		t.Error("the parameters are checked with another schema")
	}
	for range 2 { // an error is not kept
		if _, err := plan(h, e, direct("config: {command: prog}", "config_schema: {type: nothing}"), nil); err == nil {
			t.Error("a schema that is not one is accepted")
		}
	}
}

func TestParamEnv(t *testing.T) {
	vars := map[string]string{"RYE_BASH": "/bin/bash"}
	err := paramEnv(vars, "P_", map[string]any{"a-b": "x", "n": int64(3), "f": 1.5, "t": true, "l": []any{}, "ä": "y", "big": strings.Repeat("x", maxParamEnv)})
	if err != nil || vars["P_A_B"] != "x" || vars["P_N"] != "3" || vars["P_F"] != "1.5" || vars["P_T"] != "true" || vars["P__"] != "y" || len(vars) != 6 {
		t.Errorf("%v, %v", vars, err)
	}
	for prefix, name := range map[string]string{"RYE_": "bash", "LD_": "preload", "RYE": "_self", "": "path", "PYTHON": "path", "1": "x"} {
		before := map[string]string{"RYE_BASH": "/bin/bash"}
		if err := paramEnv(before, prefix, map[string]any{name: "evil"}); diag.CodeOf(err) != diag.ValidationFailed || before["RYE_BASH"] != "/bin/bash" {
			t.Errorf("%s%s: %v", prefix, name, err)
		}
	}
}

// sign and verify warn about names that are not in tmpl.Names.
func TestTemplateNames(t *testing.T) {
	h := testkit.New(t)
	e := executor(h, nil)
	p, err := plan(h, e, direct("config: {command: prog}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	vars, err := e.vars(t.Context(), p, &config{}, &anchor{dir: "/a", tool: "/a/t"})
	if err != nil {
		t.Fatal(err)
	}
	vars["runtime_lib"] = "" // set for a runtime with a lib only
	if got := slices.Sorted(maps.Keys(vars)); !slices.Equal(got, tmpl.Names()) {
		t.Errorf("vars has %q, tmpl.Names %q", got, tmpl.Names())
	}
}

func TestSafePath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("other separators")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	proj := filepath.Join(dir, "proj")
	if err := os.MkdirAll(filepath.Join(proj, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": proj, "binlink": filepath.Join(proj, "bin")} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ list, project, want string }{
		{"/usr/bin:/bin", proj, "/usr/bin:/bin"},
		{":.:bin:./bin:/bin", proj, "/bin"},
		{proj + "/bin:" + proj + "-tools/bin:/bin", proj, proj + "-tools/bin:/bin"},
		{dir + "/link/bin:" + dir + "/binlink:/bin", proj, "/bin"}, // through links
		{proj + "/bin:/bin", dir + "/link", "/bin"},                // the project is a link
		{proj + "/bin:/bin", "", proj + "/bin:/bin"},               // no project
		{"/usr/bin:/bin", "/", "/usr/bin:/bin"},                    // a project without an outside
		{"", proj, ""},
	} {
		if got := proc.OutsidePath(c.list, c.project); got != c.want {
			t.Errorf("OutsidePath(%q, %q) = %q, want %q", c.list, c.project, got, c.want)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		path, dir string
		want      bool
	}{
		{"/a/b", "/a", true}, {"/a", "/a", true}, {"/a-evil/b", "/a", false}, {"/a/../b", "/a", false}, {"/b", "/a", false}, {"/a/..b", "/a", true}, {"rel", "/a", false},
	} {
		if got := within(filepath.FromSlash(c.path), filepath.FromSlash(c.dir)); got != c.want {
			t.Errorf("within(%s, %s) = %v", c.path, c.dir, got)
		}
	}
}

// Every way to make a program of the project run ends at the consent check.
func TestConsent(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs have other names")
	}
	interp := func(kind string) []string {
		return []string{"env_config: {interpreter: {" + kind + ", var: RYE_X}}", `config: {command: "${RYE_X}"}`}
	}
	for name, more := range map[string][]string{
		"venv":                interp("type: venv_python"),
		"venv of other name":  interp("type: venv_python, venv_path: env"),
		"node_modules":        interp("type: node_modules, search_paths: [nm]"),
		"relative binary":     interp("type: system_binary, binary: ./evil"),
		"relative fallback":   interp("type: venv_python, venv_path: none, fallback: ./evil"),
		"absolute binary":     interp("type: command, binary: PROJECT/evil"),
		"dotted path":         interp("type: command, binary: PROJECT/../project/evil"),
		"link to the project": interp("type: command, binary: OUTSIDE/evil"),
		"command":             {`config: {command: "{project_path}/evil"}`},
		"relative command":    {`config: {command: ./evil}`},
		"command elsewhere":   {`config: {command: ../evil, cwd: "{project_path}/sub"}`},
		"variable":            {`env_config: {env: {RYE_X: "${RYE_PROJECT}/evil"}}`, `config: {command: "${RYE_X}"}`},
		"PATH":                {`env_config: {env: {PATH: "${RYE_PROJECT}"}}`, `config: {command: evil}`},
	} {
		h := testkit.New(t)
		for _, file := range []string{".venv/bin/python", "env/bin/python", "nm/node", "evil"} {
			program(t, filepath.Join(h.Project, file))
		}
		if err := errors.Join(os.Mkdir(filepath.Join(h.Project, "sub"), 0o755), os.Mkdir(filepath.Join(h.Dir, "outside"), 0o755),
			os.Symlink(filepath.Join(h.Project, "evil"), filepath.Join(h.Dir, "outside", "evil"))); err != nil {
			t.Fatal(err)
		}
		body := strings.NewReplacer("PROJECT", h.Project, "OUTSIDE", filepath.Join(h.Dir, "outside")).Replace(direct(more...))
		body = strings.ReplaceAll(body, "RYE_"+h.Project, "RYE_PROJECT")
		if _, err := plan(h, executor(h, nil), body, nil); diag.CodeOf(err) != diag.ConsentRequired {
			t.Errorf("%s, no consent: %v", name, err)
		}
		refused := diag.New(diag.ConsentRequired, "no")
		var asked []Interpreter
		ask := func(answer error) *Executor {
			return executor(h, func(p *Params) {
				p.Consent = func(in Interpreter) error { asked = append(asked, in); return answer }
			})
		}
		if _, err := plan(h, ask(refused), body, nil); !errors.Is(err, refused) {
			t.Errorf("%s, refused: %v", name, err)
		}
		p, err := plan(h, ask(nil), body, nil)
		if err != nil || len(asked) != 2 || !asked[1].Local || !filepath.IsAbs(p.Program) || asked[1].Path != p.Program {
			t.Errorf("%s, allowed: %v, asked %+v", name, err, asked)
			continue
		}
		if want, err := DigestFile(p.Program); err != nil || asked[1].Digest != want || len(p.Interpreters) != 1 {
			t.Errorf("%s: digest %s, %v; interpreters %+v", name, asked[1].Digest, err, p.Interpreters)
		}
	}
}

func TestInterpreter(t *testing.T) {
	h := testkit.New(t)
	e := executor(h, nil)
	for name, c := range map[string]struct {
		config string
		code   diag.Code
	}{
		"on PATH":           {"{type: system_binary, binary: prog, var: X}", ""},
		"fallback":          {"{type: venv_python, fallback: prog, var: X}", ""},
		"node fallback":     {"{type: node_modules, search_paths: [a, b], fallback: prog, var: X}", ""},
		"paths of numbers":  {"{type: node_modules, search_paths: [a, 1], fallback: prog, var: X}", diag.ConfigError},
		"not installed":     {"{type: system_binary, binary: nix, var: X}", diag.ExecutionFailed},
		"nothing named":     {"{type: system_binary, var: X}", diag.ExecutionFailed},
		"unknown type":      {"{type: magic, var: X}", diag.ConfigError},
		"no var":            {"{type: system_binary, binary: prog}", diag.ConfigError},
		"var of rye":        {"{type: system_binary, binary: prog, var: RYE_SELF}", diag.ConfigError},
		"var no name":       {"{type: system_binary, binary: prog, var: \"A=B\"}", diag.ConfigError},
		"venv outside":      {"{type: venv_python, venv_path: ../bin, var: X}", diag.ExecutionFailed},
		"manager of a path": {"{type: version_manager, manager: ./evil, binary: python, var: X}", diag.ConfigError},
		"manager missing":   {"{type: version_manager, manager: nix, binary: python, fallback: prog, var: X}", ""},
	} {
		p, err := plan(h, e, direct("env_config: {interpreter: "+c.config+"}", `config: {command: "${X}"}`), nil)
		if diag.CodeOf(err) != c.code || c.code == "" && !strings.HasPrefix(filepath.Base(p.Program), "prog") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without a project no program of the working directory is picked up.
func TestNoProject(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs have other names")
	}
	h := testkit.New(t)
	cwd := filepath.Join(h.Dir, "cwd")
	program(t, filepath.Join(cwd, ".venv/bin/python"))
	e := executor(h, func(p *Params) { p.Project, p.Dir = "", cwd })
	p, err := plan(h, e, direct("env_config: {interpreter: {type: venv_python, fallback: prog, var: X}}", `config: {command: "${X}", args: ["{project_path}"]}`), nil)
	if err != nil || filepath.Base(p.Program) != "prog" || p.Dir != cwd || p.Argv[1] != cwd {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestDigestFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := DigestFile(dir); diag.CodeOf(err) != diag.NotRegular {
		t.Errorf("a folder: %v", err)
	}
	if _, err := DigestFile(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}
