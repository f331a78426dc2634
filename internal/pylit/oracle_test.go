package pylit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// answer is one line of testdata/oracle.py.
type answer struct {
	Error  string
	Values map[string]any
	Places map[string][2]int
	Other  []string
}

// ask has Python's own parser read the files; without Python the test is
// skipped.
func ask(t *testing.T, files []string) []answer {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	cmd := exec.Command(python, "-X", "utf8", "testdata/oracle.py")
	cmd.Stdin = strings.NewReader(strings.Join(files, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running python3: %v", err)
	}
	var answers []answer
	sc := bufio.NewScanner(strings.NewReader(string(out)))
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		var a answer
		if err := json.Unmarshal(sc.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	if len(answers) != len(files) {
		t.Fatalf("%d answers for %d files", len(answers), len(files))
	}
	return answers
}

// plain turns the oracle's tagged values into those of package tree.
func plain(v any) any {
	l, ok := v.([]any)
	if !ok {
		return v
	}
	switch l[0] {
	case "i":
		n, _ := strconv.ParseInt(l[1].(string), 10, 64)
		return n
	case "f":
		f, _ := strconv.ParseFloat(l[1].(string), 64)
		return f
	case "l":
		out := []any{}
		for _, e := range l[1].([]any) {
			out = append(out, plain(e))
		}
		return out
	case "d":
		out := map[string]any{}
		for k, e := range l[1].(map[string]any) {
			out[k] = plain(e)
		}
		return out
	}
	return l[1]
}

// compare reports how many of the files Python itself could read.
func compare(t *testing.T, files []string) (read int) {
	t.Helper()
	for i, a := range ask(t, files) {
		src, err := os.ReadFile(files[i])
		if err != nil {
			t.Fatal(err)
		}
		doc, res := Parse(src)
		if a.Error != "" || diag.Failed(res.Findings) { // another encoding than UTF-8
			continue
		}
		read++
		if res.Fallback {
			t.Errorf("%s: fell back: %v", files[i], res.Findings)
			continue
		}
		for n, want := range a.Values {
			if res.NonLiteral[n].Reason == whyEscape {
				continue
			}
			if got, ok := doc.Root[n]; !ok || !reflect.DeepEqual(got, plain(want)) {
				t.Errorf("%s: %s = %#v (%v), Python returns %#v", files[i], n, got, res.NonLiteral[n], plain(want))
			}
			if p := a.Places[n]; doc.Pos[n] != (diag.Position{Line: p[0], Column: p[1]}) {
				t.Errorf("%s: %s at %v, Python returns %v", files[i], n, doc.Pos[n], p)
			}
		}
		for n := range doc.Root {
			if _, ok := a.Values[n]; !ok {
				t.Errorf("%s: %s = %#v, python knows no such literal", files[i], n, doc.Root[n])
			}
		}
		for n, why := range res.NonLiteral {
			if !slices.Contains(a.Other, n) && why.Reason != whyEscape {
				t.Errorf("%s: %s is not a literal (%v), but Python accepts it", files[i], n, why)
			}
		}
		for _, n := range a.Other {
			if _, ok := res.NonLiteral[n]; !ok {
				t.Errorf("%s: %s went unseen", files[i], n)
			}
		}
	}
	return read
}

func TestStandardLibraryReadsAsInPython(t *testing.T) {
	out, err := exec.Command("python3", "-c", "import os; print(os.path.dirname(os.__file__))").Output()
	if err != nil {
		t.Skip("python3 is not installed")
	}
	var files []string
	_ = filepath.WalkDir(strings.TrimSpace(string(out)), func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "site-packages" {
			return fs.SkipDir
		}
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(p, ".py") {
			files = append(files, p)
		}
		return nil
	})
	if limit := stdlibLimit(); len(files) > limit {
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		files = files[:limit]
	}
	t.Logf("%d files, %d of them read by python", len(files), compare(t, files))
}

// stdlibLimit is PYLIT_FILES if set, else 30 files with -short and 300 without.
func stdlibLimit() int {
	if n, err := strconv.Atoi(os.Getenv("PYLIT_FILES")); err == nil {
		return n
	}
	if testing.Short() {
		return 30
	}
	return 300
}

func TestGeneratedModulesReadAsInPython(t *testing.T) {
	if testing.Short() {
		t.Skip("runs python on many modules")
	}
	dir := t.TempDir()
	var files []string
	for i := range 400 {
		g := generator{rand.New(rand.NewPCG(uint64(i), 7))}
		p := filepath.Join(dir, fmt.Sprintf("m%03d.py", i))
		if err := os.WriteFile(p, []byte(g.module()), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, p)
	}
	if read := compare(t, files); read < 390 {
		t.Errorf("python read only %d of the generated files: the generator is wrong", read)
	}
}

// generator writes modules that are mostly literals.
type generator struct{ *rand.Rand }

func (g generator) pick(ss ...string) string { return ss[g.IntN(len(ss))] }

func (g generator) module() string {
	var b strings.Builder
	if g.IntN(3) == 0 {
		b.WriteString(g.pick("#!/usr/bin/env python3\n", "# -*- coding: utf-8 -*-\n", `"""Doc: X = "1" """`+"\n"))
	}
	for range 1 + g.IntN(15) {
		b.WriteString(g.statement())
	}
	s := b.String()
	if g.IntN(6) == 0 {
		s = strings.ReplaceAll(s, "\n", "\r\n")
	}
	return s
}

func (g generator) statement() string {
	n := g.pick("__version__", "__tool_type__", "CONFIG", "CONFIG_SCHEMA", "x", "é")
	switch g.IntN(13) {
	case 0:
		return g.pick("if True:\n    ", "def f():\n\t", "class A:\n  ", "while 0: ") + n + " = " + g.value(0) + "\n"
	case 1:
		return n + " = " + g.value(2) + "; y = " + g.value(2) + g.pick("", ";") + "\n"
	case 2:
		return n + g.pick(": str = ", ":dict[str, int]=", ": 'T' = ") + g.value(0) + "\n"
	case 3:
		return n + " = z = " + g.value(1) + "  # = 1\n"
	case 4:
		return n + " = " + g.pick("f(1)", "[i for i in ()]", "1 + 2", "x", `"a" + "b"`, "lambda: 1", "{1: 2}", "{**x}", "b'1'",
			"1 if 2 else 3", `f"{1}"`, `f'{1:>{2}}' "x"`, "1j", "-True", "...", "[*()]", "{'a': x}", "1 < 2", `"a" % 1`, `"a".b`) + "\n"
	case 5:
		return n + g.pick(" += 1", ": int", " == 1", ".a = 1", "[0] = 1", ", w = 1, 2", "(1)") + "\n"
	case 6:
		return n + " = \\\n  " + g.value(0) + "\n\n# " + n + " = 3\n"
	case 7:
		return n + " = " + g.value(1) + ", " + g.pick("", g.value(1)) + "\n"
	case 8:
		return g.pick("import os", "@d\ndef f(): pass", "print(1,\n2)", "'''\n"+n+" = 9\n'''", "\f", "x: int = 1; y = 2", "for i in x: p = 1; q = 2") + "\n"
	}
	return n + " = " + g.value(0) + "\n"
}

func (g generator) value(depth int) string {
	if depth > 3 || g.IntN(2) == 0 {
		return g.scalar()
	}
	sp := g.pick("", "\n", " ", "\n   # ]\n")
	var parts []string
	for range g.IntN(4) {
		parts = append(parts, sp+g.value(depth+1)+g.pick("", " "))
	}
	tail := ""
	if len(parts) > 0 {
		tail = g.pick("", ",", ", ")
	}
	switch g.IntN(4) {
	case 0:
		return "[" + strings.Join(parts, ",") + tail + "]"
	case 1:
		return "(" + strings.Join(parts, ",") + tail + ")"
	case 2:
		if len(parts) == 0 {
			return "{}"
		}
		return "{" + g.scalar() + ", " + g.scalar() + "}"
	}
	for i, p := range parts {
		parts[i] = sp + g.pick(`"a"`, `'b.c'`, `"""k"""`, `("p")`, `"q" 'r'`) + ":" + p
	}
	return "{" + strings.Join(parts, ",") + tail + "}"
}

func (g generator) scalar() string {
	return g.pick(g.text(), g.text(), g.text()+" "+g.text(), "("+g.text()+"\n"+g.text()+")", "True", "False", "None", "0", "00", "1_000",
		"0xFF_f", "0o17", "0b1_0", "-1", "+2", "- 3", "--4", "-(5)", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
		"1.5", ".5", "5.", "1e3", "1E-3", "1_0.0_1e1_0", "-1e400", "1e-400", "(1)", "((2))")
}

func (g generator) text() string {
	body := g.pick("", "abc", "1.0.0", "a b", "é€", "𝄞", `\n\t\\`, `\x41\u00e9\U0001F600`, `\101\0`, `\777`, `\d`, `\ud800`, `#`, `{x}`, `[(`, "\\\n", `\'\"`)
	switch g.IntN(6) {
	case 0:
		return `"""` + body + g.pick("", "\n", "\n\nx = 1\n", `"`+"x") + `"""`
	case 1:
		return "'''" + body + "\n''" + "x'''"
	case 2:
		return g.pick("r", "R") + `"` + strings.ReplaceAll(body, "\\\n", `\\`) + `"`
	case 3:
		return g.pick("u", "U", "") + `'` + body + `'`
	}
	return `"` + body + `"`
}
