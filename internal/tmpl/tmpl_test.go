package tmpl

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestExpand(t *testing.T) {
	env := map[string]string{"HOME": "/h", "EMPTY": "", "EVIL": "${HOME} {tool_path} {param:x} $(id)", "A_1": "a1"}
	vars := map[string]string{"tool_path": "/t/x.py", "evil": "${HOME}{tool_path}{evil}", "empty": ""}
	for in, want := range map[string]string{
		"":                           "",
		"plain":                      "plain",
		"${HOME}":                    "/h",
		"a${HOME}b${A_1}c":           "a/hba1c",
		"${UNSET}":                   "",
		"${UNSET:-d}":                "d",
		"${EMPTY:-d}":                "d",
		"${HOME:-d}":                 "/h",
		"${UNSET:-}":                 "",
		"${UNSET:-a $b:-c}":          "a $b:-c",
		"${EVIL}":                    env["EVIL"],
		"{tool_path}":                "/t/x.py",
		"x{tool_path}y{tool_path}":   "x/t/x.pyy/t/x.py",
		"{evil}":                     vars["evil"],
		"{empty}":                    "",
		"{unknown}":                  "{unknown}",
		"{Tool_path}":                "{Tool_path}",
		"{ tool_path }":              "{ tool_path }",
		"{1a}":                       "{1a}",
		"{tool_path":                 "{tool_path",
		"{{tool_path}}":              "{/t/x.py}",
		`{"a": {"b": 1}}`:            `{"a": {"b": 1}}`,
		"$HOME $$ $":                 "$HOME $$ $",
		"$${HOME}":                   "$/h",
		"${home}":                    "${home}",
		"${tool_path}":               "${tool_path}",
		"${Home}":                    "${Home}",
		"${HOMe}":                    "${HOMe}",
		"${1}":                       "${1}",
		"${1A}":                      "${1A}",
		"${}":                        "${}",
		"${":                         "${",
		"${HOME%x}":                  "${HOME%x}",
		"${HOME-x}":                  "${HOME-x}",
		"${HOME:+x}":                 "${HOME:+x}",
		"${a[@]}":                    "${a[@]}",
		"${!X}":                      "${!X}",
		"${{tool_path}}":             "${/t/x.py}",
		"{input:x}":                  "{input:x}",
		"\xff${HOME}\x00{tool_path}": "\xff/h\x00/t/x.py",
	} {
		got, err := Expand(in, env, vars)
		if err != nil || got != want {
			t.Errorf("Expand(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	for in, why := range map[string]string{
		"a ${HOME":                    "does not end",
		"${HOME:-x":                   "does not end",
		"${X:-${Y}}":                  "may not contain a template",
		"${X:-{tool_path}}":           "may not contain a template",
		"--x={param:name}":            "whole argument",
		"{param:a}{param:b}":          "whole argument",
		"{param:":                     "does not end",
		"{param:{tool_path}}":         "does not end",
		"{param:}":                    "no name",
		"ok {param:" + long + "} end": "whole argument",
	} {
		got, err := Expand(in, nil, nil)
		if diag.CodeOf(err) != diag.ConfigError || !strings.Contains(err.Error(), why) || got != "" {
			t.Errorf("Expand(%q) = %q, %v, want a refusal with %q", in, got, err, why)
		}
		if _, err := ExpandArgv([]string{"x", "a" + in}, nil, nil, nil); diag.CodeOf(err) != diag.ConfigError || !strings.Contains(err.Error(), "argument 2") {
			t.Errorf("ExpandArgv(%q): %v", in, err)
		}
		if fs := Lint(in); !diag.Failed(fs) {
			t.Errorf("Lint(%q) = %v, want an error as Expand", in, fs)
		}
	}
}

var long = strings.Repeat("n", 100)

func TestExpandArgv(t *testing.T) {
	params := map[string]any{
		"s": "a b '$(id)' {tool_path} ${HOME}", "empty": "", "n": json.Number("12345678901234567890"), "f": 1.5, "t": true, "nil": nil,
		"list": []any{"a", 1.0, "<&>"}, "obj": map[string]any{"b": 1.0, "a": "{param:s}"}, "with-dash": "d", "-opt": "o",
	}
	got, err := ExpandArgv([]string{
		"{param:s}", "{param:missing}", "{param:empty}", "{param:n}", "{param:f}", "{param:t}", "{param:nil}", "{param:list}",
		"{param:obj}", "{param:with-dash}", "{param:-opt}", "${HOME}", "{tool_path}", "", "{unknown}",
	}, map[string]string{"HOME": "/h"}, map[string]string{"tool_path": "/t x"}, params)
	want := []string{
		params["s"].(string), "", "12345678901234567890", "1.5", "true", "null", `["a",1,"<&>"]`,
		`{"a":"{param:s}","b":1}`, "d", "o", "/h", "/t x", "", "{unknown}",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("ExpandArgv =\n%q, %v, want\n%q", got, err, want)
	}
	got, err = ExpandArgv([]string{"a", "{params:list}", "{params:missing}", "{params:none}", "z"}, nil, nil,
		map[string]any{"list": []any{"", "b c", "{tool_path} ${HOME}", "{params:list}", 1.0}, "none": []any{}})
	if want := []string{"a", "", "b c", "{tool_path} ${HOME}", "{params:list}", "1", "z"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("ExpandArgv =\n%q, %v, want\n%q", got, err, want)
	}
	if _, err := ExpandArgv([]string{"{params:s}"}, nil, nil, params); diag.CodeOf(err) != diag.ValidationFailed {
		t.Errorf("a text as a list: %v", err)
	}
	for in, want := range map[string]string{"{param:s}": params["s"].(string), "{param:missing}": "", "{param:nil}": "", "{param:t}": "true", "${HOME} {tool_path}": "/h /t", "": ""} {
		got, err := ExpandInput(in, map[string]string{"HOME": "/h"}, map[string]string{"tool_path": "/t"}, params)
		if err != nil || got != want {
			t.Errorf("ExpandInput(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"{params:list}", "x {param:s}"} {
		if _, err := ExpandInput(in, nil, nil, params); diag.CodeOf(err) != diag.ConfigError || !diag.Failed(LintInput(in)) {
			t.Errorf("ExpandInput(%q): %v, %v", in, err, LintInput(in))
		}
	}
	if fs := append(LintInput("{param:s}"), LintArg("{params:s}")...); len(fs) > 0 {
		t.Errorf("lint: %v", fs)
	}
	if _, err := ExpandArgv([]string{"{param:x}"}, nil, nil, map[string]any{"x": func() {}}); diag.CodeOf(err) != diag.ValidationFailed {
		t.Errorf("a value without JSON: %v", err)
	}
}

func TestLint(t *testing.T) {
	const notTemplate = ` is not a template and stays as it is; a parameter is {param:NAME} as a whole argument`
	for in, want := range map[string][]string{
		"{tool_path} ${HOME} ${X:-d} plain {\"json\": 1}": nil,
		"{toolpath}":     {`CONFIG_ERROR: "{toolpath}"` + notTemplate},
		"a\nbü {x} {y}":  {`CONFIG_ERROR: "{x}"` + notTemplate, `CONFIG_ERROR: "{y}"` + notTemplate},
		"${tool_path}":   {`CONFIG_ERROR: "${tool_path}" is not a template and stays as it is: variables have upper-case names`},
		"${other}":       nil,
		"{param:a}":      {`CONFIG_ERROR: "{param:a}": a parameter may only be a whole argument of its own`},
		"x${Y:-{z}} {q}": {`CONFIG_ERROR: "${Y:-{": a default may not contain a template`, `CONFIG_ERROR: "{q}"` + notTemplate},
		"${A":            {`CONFIG_ERROR: "${A": the variable does not end with }`},
	} {
		var got []string
		for _, f := range Lint(in) {
			got = append(got, f.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("Lint(%q) =\n%q, want\n%q", in, got, want)
		}
	}
	if fs := Lint("{toolpath}"); fs[0].Severity != diag.SeverityWarning || fs[0].Facts["nearest"] != "{tool_path}" {
		t.Errorf("%+v", fs)
	}
	if fs := LintArg("{param:a}"); fs != nil {
		t.Errorf("a whole argument: %v", fs)
	}
	if fs := LintArg("-x={param:a}"); !diag.Failed(fs) {
		t.Errorf("a part of an argument: %v", fs)
	}
	for in, n := range map[string]int{"{tool_path}": 1, "{print} ${HOME}": 0, "${HOME": 1} {
		if fs := LintEnv(in); len(fs) != n {
			t.Errorf("LintEnv(%q) = %v, want %d", in, fs, n)
		}
	}
}

func TestInputs(t *testing.T) {
	values := map[string]string{"k": "v", "empty": "", "evil": "{input:k} {input:evil} ${HOME}", "a-b": "dash", "ü": "never"}
	for in, want := range map[string]string{
		"":                           "",
		"none":                       "none",
		"{input:k}":                  "v",
		"a{input:k}b{input:k}c":      "avbvc",
		"{input:missing}":            "{input:missing}",
		"{input:missing?}":           "",
		"{input:k?}":                 "v",
		"{input:missing:def}":        "def",
		"{input:missing|def}":        "def",
		"{input:missing:}":           "",
		"{input:missing:a:b|c?}":     "a:b|c?",
		"{input:missing:{input:k}}":  "{input:k}", // one scan: the default ends at the first brace and is not scanned
		"{input:k:def}":              "v",
		"{input:k|def}":              "v",
		"{input:empty:def}":          "",
		"{input:evil}":               values["evil"],
		"{input:a-b}":                "dash",
		"{input:k":                   "{input:k",
		"{input:k:":                  "{input:k:",
		"{input:}":                   "{input:}",
		"{input:?}":                  "{input:?}",
		"{input:k ?}":                "{input:k ?}",
		"{input:k??}":                "{input:k??}",
		"{input:ü}":                  "{input:ü}",
		"{ input:k }":                "{ input:k }",
		"{input:{input:k}}":          "{input:v}",
		"{{input:k}}":                "{v}",
		"${HOME} {tool_path}":        "${HOME} {tool_path}",
		"{input:missing:l1\nl2}":     "l1\nl2",
		"\xff{input:k}\x00":          "\xffv\x00",
		"{input:k} } {input:missing": "v } {input:missing",
	} {
		if got := Inputs(in, values); got != want {
			t.Errorf("Inputs(%q) = %q, want %q", in, got, want)
		}
	}
}

// A hostile text of a megabyte must not take quadratic time: at a hundred
// thousand heads that would be minutes.
func TestHostileSizes(t *testing.T) {
	for _, unit := range []string{"{input:a:", "{input:a", "{input:", "{", "${", "${A:-", "{param:", "{a", "$"} {
		s := strings.Repeat(unit, 1<<20/len(unit))
		if got := Inputs(s, nil); got != s {
			t.Errorf("%q: Inputs changed a text without references", unit)
		}
		Expand(s, nil, nil)
		Lint(s + "}")
	}
}

func TestShellQuote(t *testing.T) {
	words := []string{"", "a", "a b", "'", `''\''`, "$(id) `id` ${HOME} $HOME", "a\nb\t", `\`, "*?[a]~", "-n", "ü\xff", "!!", "; rm x &"}
	script := "printf '%s\\0'"
	for _, w := range words {
		script += " " + ShellQuote(w)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	out, err := exec.Command(sh, "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, words) {
		t.Errorf("sh saw %q, want %q", got, words)
	}
}

var seeds = []string{"", "${HOME}", "${X:-d}", "{tool_path}", "{param:a}", "{input:k}", "{input:k|d}", "{input:k?}", "${", "{", "${A:-{b}}", "a${A}{b}${c}{D}", "{input:{input:k}}", "\xff\x00"}

// Values are not scanned: a value with template syntax gives the result of a neutral
// marker with the marker replaced.
func FuzzExpand(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "${A}{b}")
	}
	f.Fuzz(func(t *testing.T, s, v string) {
		const mark = "\x00\x01mark\x01\x00"
		if strings.Contains(s, mark) || v == "" {
			return
		}
		with := func(v string) (string, error) {
			return Expand(s, map[string]string{"A": v, "HOME": v}, map[string]string{"b": v, "tool_path": v})
		}
		got, err := with(v)
		neutral, err2 := with(mark)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("a value decides whether %q is refused: %v, %v", s, err, err2)
		}
		if want := strings.ReplaceAll(neutral, mark, v); got != want {
			t.Errorf("Expand(%q) = %q, want %q", s, got, want)
		}
		if err == nil && !strings.Contains(s, "{") && got != s {
			t.Errorf("Expand(%q) = %q, want no change", s, got)
		}
		if failed := diag.Failed(Lint(s)); failed != (err != nil) {
			t.Errorf("%q: Lint %v, Expand %v", s, failed, err)
		}
		argv, err := ExpandArgv([]string{s}, nil, nil, map[string]any{"a": v})
		if err == nil && len(argv) > 1 {
			t.Errorf("%q became %q", s, argv)
		}
	})
}

func FuzzInputs(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "{input:k}")
	}
	f.Fuzz(func(t *testing.T, s, v string) {
		const mark = "\x00\x01mark\x01\x00"
		if strings.Contains(s, mark) {
			return
		}
		var names []string
		scan(s, func(_ string, r reference) {
			if r.raw != "" {
				names = append(names, r.name)
			}
		})
		fill := func(v string) string {
			values := map[string]string{}
			for _, n := range names {
				values[n] = v
			}
			return Inputs(s, values)
		}
		if got, want := fill(v), strings.ReplaceAll(fill(mark), mark, v); got != want {
			t.Errorf("Inputs(%q) = %q, want %q", s, got, want)
		}
		if len(names) == 0 && Inputs(s, map[string]string{"k": v}) != s {
			t.Errorf("%q changed without a reference", s)
		}
	})
}
