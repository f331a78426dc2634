package interpolate

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/tmpl"
)

func values() map[string]any {
	return map[string]any{
		"inputs": map[string]any{"tag": "v1.2", "n": int64(3), "evil": "${inputs.tag} $${x} ; touch pwned", "null": nil},
		"state":  map[string]any{"list": []any{"a", map[string]any{"b": 1.5, "a": true}}, "empty": "", "yes": true},
	}
}

func TestRender(t *testing.T) {
	for in, want := range map[string]any{
		"":                          "",
		"plain $ } { $x":            "plain $ } { $x",
		"${inputs.tag}":             "v1.2",
		"${inputs.n}":               int64(3),
		"${state.yes}":              true,
		"${state.list.1}":           map[string]any{"b": 1.5, "a": true},
		"${state.list.1.b}":         1.5,
		"${inputs.null}":            nil,
		"${inputs.none?}":           nil,
		"${inputs.none:-5}":         int64(5),
		"${inputs.none:-1.0.0}":     "1.0.0",
		`${inputs.none:-"5"}`:       "5",
		"${inputs.none:-[]}":        []any{},
		"${inputs.none:-}":          "",
		"${inputs.none:- 5}":        " 5",
		"${inputs.null:-none}":      "none",
		"${inputs.n:-5}":            int64(3),
		"${state.empty:-x}":         "",
		"a ${inputs.n}":             "a 3",
		"${inputs.tag}${inputs.n}":  "v1.23",
		"<${state.list}>":           `<["a",{"a":true,"b":1.5}]>`,
		"<${inputs.null}>":          "<null>",
		"<${inputs.none?}>":         "<>",
		"<${inputs.none:-7}>":       "<7>",
		"$${inputs.tag}":            "${inputs.tag}",
		"$$${inputs.tag}":           "$${inputs.tag}",
		"a$${b}${inputs.tag}c$${d}": "a${b}v1.2c${d}",
		"$${":                       "${",
		"${inputs.evil}":            "${inputs.tag} $${x} ; touch pwned",
		"x${inputs.evil}":           "x${inputs.tag} $${x} ; touch pwned",
	} {
		tm, ps := Compile(in)
		if tm == nil {
			t.Errorf("%s: %v", in, ps)
			continue
		}
		got, err := tm.Render(values())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %#v, %v, want %#v", in, got, err, want)
		}
		if c, ok := tm.Constant(); ok && c != want {
			t.Errorf("%s: the constant is %v", in, c)
		}
	}
}

func TestNested(t *testing.T) {
	in := map[string]any{"a": []any{"${inputs.n}", "x", 1.5, nil}, "b": map[string]any{"c": "<${inputs.tag}>"}, "d": []any{"e"}}
	tm, ps := Compile(in)
	if tm == nil {
		t.Fatal(ps)
	}
	want := map[string]any{"a": []any{int64(3), "x", 1.5, nil}, "b": map[string]any{"c": "<v1.2>"}, "d": []any{"e"}}
	if got, err := tm.Render(values()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	var at []string
	tm.Each(func(p string, e *Expr) { at = append(at, p+"="+e.Path.String()) })
	if s := strings.Join(at, " "); s != "a.0=inputs.n b.c=inputs.tag" {
		t.Error(s)
	}
	if e, ok := tm.Key("b").Key("c").Whole(); ok || tm.Key("x") != nil {
		t.Errorf("mixed text is %v", e)
	}
}

func TestMissing(t *testing.T) {
	for in, want := range map[string]string{
		"${inputs.none}":    "${inputs.none}: no value has this path; write ${inputs.none?} for null or ${inputs.none:-default} if it may be missing",
		"x ${state.list.9}": "${state.list.9}: no value has this path",
		"${nothing}":        "${nothing}: no value has this path",
		"${inputs.null.x}":  "${inputs.null.x}: no value has this path",
	} {
		tm, _ := Compile([]any{"ok", in})
		got, err := tm.Render(values())
		m, ok := err.(*Missing)
		if !ok || m.At != "1" || !strings.HasPrefix(err.Error(), want) || got != nil {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"${":                `"${" does not end: } is missing; write $${ for a literal ${`,
		"a ${b":             `"${b" does not end`,
		"${}":               `"${}" is not an expression: ${ is followed by a path such as state.count`,
		"${ a }":            `"${ a }" is not an expression`,
		"${a b}":            `"${a b}" is not an expression: after the path a comes }, ?} or :-default}`,
		"${a[0]}":           "after the path a comes",
		"${a.0b}":           "after the path a comes",
		"${a??}":            "after the path a comes",
		"${a|upper}":        "after the path a comes",
		"${a:-${b}}":        "a default may not contain an expression, { or $",
		"${a:-$x}":          "a default may not contain an expression, { or $",
		"${now()}":          "after the path now comes",
		"${" + long() + "}": "the path has more than 1024 bytes",
		"${HOME:+x}":        "after the path HOME comes",
		"$${a} ${b":         "does not end",
	} {
		tm, ps := Compile(map[string]any{"k": []any{in}})
		if tm != nil || len(ps) != 1 || ps[0].At != "k.0" || !strings.Contains(ps[0].Text, want) {
			t.Errorf("%.40s: %v, want %s", in, ps, want)
		}
	}
	if tm, ps := Compile(map[string]any{"${a}": "${", "b": "${x"}); tm != nil || len(ps) != 3 {
		t.Errorf("%v", ps)
	}
	var deep any = "x"
	for range MaxDepth + 1 {
		deep = []any{deep}
	}
	if tm, ps := Compile(deep); tm != nil || len(ps) != 1 {
		t.Errorf("deep: %v", ps)
	}
}

func long() string { return strings.Repeat("a.", 600) + "a" }

func TestRenderQuoted(t *testing.T) {
	quote := func(path []string) func(string) string {
		if path[0] == "command" {
			return tmpl.ShellQuote
		}
		return nil
	}
	for in, want := range map[string]string{
		"ls -l":                          "ls -l",
		"ls ${inputs.evil}":              "ls '${inputs.tag} $${x} ; touch pwned'",
		"${inputs.evil}":                 "'${inputs.tag} $${x} ; touch pwned'",
		"echo ${inputs.n} ${state.list}": `echo '3' '["a",{"a":true,"b":1.5}]'`,
	} {
		tm, _ := Compile(map[string]any{"command": in, "other": "${inputs.n}", "list": []any{"x${inputs.n}"}})
		got, err := tm.RenderQuoted(values(), quote)
		if err != nil || !reflect.DeepEqual(got, map[string]any{"command": want, "other": int64(3), "list": []any{"x3"}}) {
			t.Errorf("%s = %v, %v", in, got, err)
		}
	}
	for _, in := range []any{"x ${missing}", []any{"${missing}"}, map[string]any{"a": "${missing}"}} {
		tm, _ := Compile(map[string]any{"command": in})
		if got, err := tm.RenderQuoted(values(), quote); err == nil {
			t.Errorf("%v = %v", in, got)
		}
	}
}

func TestParts(t *testing.T) {
	tm, _ := Compile(map[string]any{"b": []any{"c", "a ${x.y} b$${z}${n?}"}, "a": "${whole}"})
	got := ""
	tm.Texts(func(at string, names []string, text *Template) {
		literal, exprs := text.Parts()
		got += at + "/" + strings.Join(names, ".") + "="
		for i, e := range exprs {
			got += literal[i] + "<" + e.Path.String() + ">"
		}
		got += literal[len(exprs)] + ";"
	})
	if want := "a/a=<whole>;b.1/b.1=a <x.y> b${z}<n>;"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// pieces are texts that could be expanded a second time.
func pieces() []string {
	return []string{"${a}", "$${a}", "$", "${", "}", "{", "x", "${a:-b}", "?", ":-", "a", "\x00", "ä"}
}

func randomText(r *rand.Rand) string {
	var s strings.Builder
	for range r.IntN(6) {
		s.WriteString(pieces()[r.IntN(len(pieces()))])
	}
	return s.String()
}

// Whatever a value contains, it appears in the result once and unchanged, and a
// whole expression keeps the value's type.
func TestNeverTwice(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 2))
	for range 20_000 {
		value := randomText(r)
		root := map[string]any{"a": value, "n": int64(1)}
		before, after := strings.ReplaceAll(randomText(r), "$", ""), strings.ReplaceAll(randomText(r), "$", "")
		tm, ps := Compile(before + "${a}" + after)
		if tm == nil {
			t.Fatal(ps)
		}
		if got, err := tm.Render(root); err != nil || got != before+value+after {
			t.Fatalf("%q%q%q = %q, %v", before, value, after, got, err)
		}
		// A text in which every ${ is escaped is itself.
		esc, ps := Compile(strings.ReplaceAll(value, "${", "$${"))
		if esc == nil {
			t.Fatal(ps)
		}
		if got, ok := esc.Constant(); !ok || got != value {
			t.Fatalf("escaped %q = %q", value, got)
		}
	}
}

// FuzzCompile checks that compilation and rendering never panic, and that a value
// with the syntax of templates is not expanded.
func FuzzCompile(f *testing.F) {
	for _, s := range pieces() {
		f.Add(`{"k":["`+strings.ReplaceAll(s, "\x00", "")+`"]}`, s)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		v, fs := jsonx.ParseMessage([]byte(text))
		if len(fs) > 0 {
			v = text
		}
		tm, ps := Compile(v)
		if (tm == nil) != (len(ps) > 0) {
			t.Fatalf("%s: %v", text, ps)
		}
		if tm == nil {
			return
		}
		root := map[string]any{"a": value, "b": map[string]any{"a": []any{value}}}
		out, err := tm.Render(root)
		if err != nil {
			if _, ok := err.(*Missing); !ok {
				t.Fatal(err)
			}
			return
		}
		if e, ok := tm.Whole(); ok {
			if want, found := e.Path.Lookup(root); found && !reflect.DeepEqual(out, want) {
				t.Fatalf("%s = %v, want %v", text, out, want)
			}
		}
		if c, ok := tm.Constant(); ok && !reflect.DeepEqual(c, out) {
			t.Fatalf("constant %v, rendered %v", c, out)
		}
	})
}
