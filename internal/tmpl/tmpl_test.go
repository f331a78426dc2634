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
		"${X:-${Y}}":                  "may not hold a template",
		"${X:-{tool_path}}":           "may not hold a template",
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
		if fs := Lint(in, []string{"tool_path"}); !diag.Failed(fs) {
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
	if _, err := ExpandArgv([]string{"{param:x}"}, nil, nil, map[string]any{"x": func() {}}); diag.CodeOf(err) != diag.ValidationFailed {
		t.Errorf("a value without JSON: %v", err)
	}
}

func TestLint(t *testing.T) {
	known := []string{"tool_path", "params_json"}
	for in, want := range map[string][]string{
		"{tool_path} ${HOME} ${X:-d} plain {\"json\": 1}": nil,
		"{toolpath}":     {`line 1:1: CONFIG_ERROR: "{toolpath}" is not a known name and stays as it is`},
		"a\nbü {x} {y}":  {`line 2:5: CONFIG_ERROR: "{x}" is not a known name and stays as it is`, `line 2:9: CONFIG_ERROR: "{y}" is not a known name and stays as it is`},
		"${tool_path}":   {`line 1:1: CONFIG_ERROR: "${tool_path}" stays as it is: variables have upper-case names`},
		"${other}":       nil,
		"{param:a}":      {`line 1:1: CONFIG_ERROR: "{param:a}": a parameter may only be a whole argument of its own`},
		"x${Y:-{z}} {q}": {`line 1:2: CONFIG_ERROR: "${Y:-{": a default may not hold a template`, `line 1:12: CONFIG_ERROR: "{q}" is not a known name and stays as it is`},
		"${A":            {`line 1:1: CONFIG_ERROR: "${A": the variable does not end with }`},
	} {
		var got []string
		for _, f := range Lint(in, known) {
			got = append(got, f.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("Lint(%q) =\n%q, want\n%q", in, got, want)
		}
	}
	fs := LintArgv([]string{"{param:a}", "", "{tool_path}", "-x={param:a}", "{nope}"}, known)
	if len(fs) != 2 || !strings.HasPrefix(fs[0].Message, "argument 4: ") || fs[0].Severity != diag.SeverityError ||
		!strings.HasPrefix(fs[1].Message, "argument 5: ") || fs[1].Severity != diag.SeverityWarning {
		t.Errorf("LintArgv = %v", fs)
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
		"{input:missing:{input:k}}":  "{input:k}", // one scan: the default ends at the first brace and is not looked at
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
	got := InputNames("{input:b} {input:a?} {input:b:x} {input:} {input:c|{input:d}} {input:e")
	if want := []string{"b", "a", "c"}; !slices.Equal(got, want) {
		t.Errorf("InputNames = %q, want %q", got, want)
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
		Lint(s+"}", nil)
		InputNames(s + "}")
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

// What is filled in is never looked at again: with a value of template syntax
// the result is that of a neutral marker, the marker replaced.
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
		if failed := diag.Failed(Lint(s, []string{"b"})); failed != (err != nil) {
			t.Errorf("%q: Lint says %v, Expand %v", s, failed, err)
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
		names := InputNames(s)
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
		if once := slices.Compact(slices.Sorted(slices.Values(names))); len(once) != len(names) {
			t.Errorf("a name twice: %q", names)
		}
	})
}
