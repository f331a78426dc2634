package fs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/testing/wiretest"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{
		"a.go": "", "b.txt": "", "a/b.go": "", "a/c/d.go": "", "a/c/e.py": "", "a.go.d/x": "", ".hidden": "", "[x].go": "", "z{1}": "",
		".git/h.go": "", "node_modules/m/i.go": "", "a/__pycache__/c.go": "", ".venv/v.go": "", ".ai/tools/t.go": "",
	})
	for name, c := range map[string]struct {
		in   obj
		want string
	}{
		"one level":            {obj{"pattern": "*.go"}, "[x].go a.go"},
		"every level, sorted":  {obj{"pattern": "**/*.go"}, ".ai/tools/t.go [x].go a.go a/b.go a/c/d.go"},
		"below":                {obj{"pattern": "a/**"}, "a/b.go a/c/d.go a/c/e.py"},
		"all":                  {obj{"pattern": "**"}, ".ai/tools/t.go .hidden [x].go a.go a.go.d/x a/b.go a/c/d.go a/c/e.py b.txt z{1}"},
		"in the middle":        {obj{"pattern": "a/**/d.go"}, "a/c/d.go"},
		"middle matches none":  {obj{"pattern": "a/**/b.go"}, "a/b.go"},
		"alternatives":         {obj{"pattern": "**/*.{py,txt}"}, "a/c/e.py b.txt"},
		"nested alternatives":  {obj{"pattern": "{a,b}.{g{o,a},txt}"}, "a.go b.txt"},
		"class":                {obj{"pattern": "[ab].*"}, "a.go b.txt"},
		"negated class":        {obj{"pattern": "[!a].*"}, "b.txt"},
		"escaped":              {obj{"pattern": `\[x\].go`}, "[x].go"},
		"brace by itself":      {obj{"pattern": `z\{1\}`}, "z{1}"},
		"question mark":        {obj{"pattern": "?.go"}, "a.go"},
		"dot slash":            {obj{"pattern": "./a/*.go"}, "a/b.go"},
		"path":                 {obj{"pattern": "**/*.go", "path": "a"}, "a/b.go a/c/d.go"},
		"asked for by name":    {obj{"pattern": "node_modules/**/*.go"}, "node_modules/m/i.go"},
		"asked for by path":    {obj{"pattern": "*.go", "path": ".git"}, ".git/h.go"},
		"ignored":              {obj{"pattern": "**/*.go", "ignore": []string{"a", "[x].go"}}, ".ai/tools/t.go [x].go a.go"},
		"ignored by extension": {obj{"pattern": "a/**", "ignore": []string{"*.go", "c/**"}}, "a/c/e.py"},
		"nothing":              {obj{"pattern": "*.rs"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ok(t, dir, "glob", c.in)
			if files := joined(got["files"]); files != c.want || got["truncated"] != false {
				t.Errorf("files %q, want %q", files, c.want)
			}
		})
	}
}

func joined(v any) string {
	var out []string
	for _, f := range v.([]any) {
		out = append(out, f.(string))
	}
	return strings.Join(out, " ")
}

func TestGlobCounts(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 250 {
		files[fmt.Sprintf("d%d/f%03d", i%3, i)] = ""
	}
	dir := wiretest.Project(t, files)
	got := ok(t, dir, "glob", obj{"pattern": "**"})
	if got["count"] != float64(100) || got["total"] != float64(250) || got["truncated"] != true {
		t.Errorf("count %v total %v truncated %v", got["count"], got["total"], got["truncated"])
	}
	got = ok(t, dir, "glob", obj{"pattern": "**", "limit": 250})
	if got["count"] != float64(250) || got["truncated"] != false {
		t.Errorf("count %v truncated %v", got["count"], got["truncated"])
	}
}

func TestGlobRefuses(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{"f": ""})
	for name, c := range map[string]struct {
		in         obj
		code, word string
	}{
		"open class":      {obj{"pattern": "a/[b"}, "VALIDATION_FAILED", `invalid segment "[b"`},
		"absolute":        {obj{"pattern": "/etc/*"}, "VALIDATION_FAILED", "relative"},
		"dots":            {obj{"pattern": "../*"}, "PATH_ESCAPE", ".."},
		"brace bomb":      {obj{"pattern": strings.Repeat("{a,b}", 30)}, "VALIDATION_FAILED", "64 alternatives"},
		"long":            {obj{"pattern": strings.Repeat("{}", 1000)}, "VALIDATION_FAILED", "1024 bytes"},
		"deep":            {obj{"pattern": strings.Repeat("a/", 100)}, "VALIDATION_FAILED", "60 segments"},
		"file as path":    {obj{"pattern": "*", "path": "f"}, "NOT_REGULAR", "not a directory"},
		"not a directory": {obj{"pattern": "*", "path": "g"}, "FILE_SYSTEM_ERROR", `"g"`},
		"bad ignore":      {obj{"pattern": "*", "ignore": []string{"["}}, "VALIDATION_FAILED", "ignore"},
	} {
		t.Run(name, func(t *testing.T) { fails(t, dir, "glob", c.in, c.code, c.word) })
	}
}

// TestGlobDoesNotExplode matches what makes backtracking matchers hang.
func TestGlobDoesNotExplode(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{strings.Repeat("a/", 40) + "a": ""})
	got := ok(t, dir, "glob", obj{"pattern": strings.Repeat("**/a/", 25) + "b"})
	if got["total"] != float64(0) {
		t.Errorf("got %v", got)
	}
}

func TestGlobFollowsNoFolderLinks(t *testing.T) {
	t.Parallel()
	dir, _ := attackGround(t)
	got := joined(ok(t, dir, "glob", obj{"pattern": "**"})["files"])
	if got != "good in/file.txt" {
		t.Errorf("files %q", got)
	}
}

func matchesOf(got obj) string {
	var out []string
	for _, m := range got["matches"].([]any) {
		m := m.(obj)
		out = append(out, fmt.Sprintf("%v:%v:%v", m["file"], m["line"], m["content"]))
	}
	return strings.Join(out, " | ")
}

func TestGrep(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{
		"a.go": "package a\n\nfunc Foo() {}\n", "b/c.txt": "foo\nbar -x\r\nFOO\n", "bin": "foo\x00", "b/d.go": "foo",
		".git/x": "foo\n", ".ai/cache/results/x.txt": "foo\n", ".ai/threads/t/y": "foo\n", "node_modules/x": "foo\n", "latin": "caf\xe9 foo\n", "html": "<a href=\"x\">&\n",
		"big": strings.Repeat("x", files.MaxSize) + "\nfoo\n",
	})
	for name, c := range map[string]struct {
		in   obj
		want string
	}{
		"word":              {obj{"pattern": "foo"}, "b/c.txt:1:foo | b/d.go:1:foo | latin:1:caf\uFFFD foo"},
		"ignore case":       {obj{"pattern": "foo", "ignore_case": true, "include": "*.{go,txt}"}, "a.go:3:func Foo() {} | b/c.txt:1:foo | b/c.txt:3:FOO | b/d.go:1:foo"},
		"include name":      {obj{"pattern": "foo", "include": "*.go"}, "b/d.go:1:foo"},
		"include path":      {obj{"pattern": "foo", "include": "b/*.txt"}, "b/c.txt:1:foo"},
		"begins with -":     {obj{"pattern": "-x"}, "b/c.txt:2:bar -x"},
		"long option":       {obj{"pattern": "--files|^foo$", "path": "b"}, "b/c.txt:1:foo | b/d.go:1:foo"},
		"anchors, CRLF":     {obj{"pattern": "x$", "path": "b"}, "b/c.txt:2:bar -x"},
		"single file":       {obj{"pattern": "o+", "path": "b/d.go"}, "b/d.go:1:foo"},
		"ignored":           {obj{"pattern": "foo", "ignore": []string{"b"}}, "latin:1:caf\uFFFD foo"},
		"asked for":         {obj{"pattern": "foo", "path": "node_modules"}, "node_modules/x:1:foo"},
		"results asked for": {obj{"pattern": "foo", "path": ".ai/cache"}, ".ai/cache/results/x.txt:1:foo"},
		"no HTML escape":    {obj{"pattern": "href"}, "html:1:<a href=\"x\">&"},
		"nothing":           {obj{"pattern": "quux"}, ""},
		"empty line":        {obj{"pattern": "^$"}, "a.go:2:"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ok(t, dir, "grep", c.in)
			if m := matchesOf(got); m != c.want {
				t.Errorf("matches %q, want %q", m, c.want)
			}
		})
	}
	got := ok(t, dir, "grep", obj{"pattern": "foo"})
	if got["files_skipped"] != float64(2) { // bin, big
		t.Errorf("skipped %v", got["files_skipped"])
	}
	fails(t, dir, "grep", obj{"pattern": "foo", "path": "bin"}, "ENCODING", "binary")
}

func TestGrepIDsAreThoseOfRead(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{"f": "a\n}\nb\n}\n}\n"})
	ids, _ := shown(t, ok(t, dir, "read", obj{"file_path": "f", "line_ids": true}))
	for _, m := range ok(t, dir, "grep", obj{"pattern": "}"})["matches"].([]any) {
		m := m.(obj)
		if n := int(m["line"].(float64)); m["line_id"] != ids[n-1] {
			t.Errorf("line %d: id %v, read returns %v", n, m["line_id"], ids[n-1])
		}
	}
}

func TestGrepContextAndLimits(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{"f": "1\n2\nhit\n4\n5\n", "g": strings.Repeat("many\n", 150), "h": strings.Repeat("é", 3000) + "needle" + strings.Repeat("ü", 3000)})
	m := ok(t, dir, "grep", obj{"pattern": "hit", "context": 3})["matches"].([]any)[0].(obj)
	if fmt.Sprint(m["before"]) != "[1 2]" || fmt.Sprint(m["after"]) != "[4 5]" {
		t.Errorf("context %v", m)
	}
	got := ok(t, dir, "grep", obj{"pattern": "many"})
	if got["count"] != float64(100) || got["truncated"] != true {
		t.Errorf("count %v truncated %v", got["count"], got["truncated"])
	}
	if got := ok(t, dir, "grep", obj{"pattern": "many", "limit": 150}); got["truncated"] != false {
		t.Error("exactly the limit counts as cut")
	}
	m = ok(t, dir, "grep", obj{"pattern": "needle"})["matches"].([]any)[0].(obj)
	if c := m["content"].(string); len(c) > grepWindow+20 || !strings.Contains(c, "needle") || strings.Contains(c, "\uFFFD") {
		t.Errorf("window %q", c)
	}
}

func TestGrepNamesThePlaceOfABadPattern(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		pattern string
		column  float64
		word    string
	}{
		"open paren":       {`ab(c[)]`, 3, "missing closing )"},
		"odd paren":        {`a(b)c)`, 6, "unexpected )"},
		"escaped paren":    {`\((`, 3, "missing closing )"},
		"open class":       {`ab[c`, 3, "missing closing ]"},
		"nothing to count": {`ab|*`, 4, "missing argument"},
		"bad escape":       {`a\8`, 2, "invalid escape"},
		"look-ahead":       {`a(?=b)`, 2, "look-around"},
		"huge count":       {`ab{2000}`, 3, "invalid repeat count"},
	} {
		t.Run(name, func(t *testing.T) {
			e := fails(t, dir, "grep", obj{"pattern": c.pattern}, "VALIDATION_FAILED", c.word)
			f := e["details"].(obj)["findings"].([]any)[0].(obj)
			if f["column"] != c.column {
				t.Errorf("column %v, want %v: %v", f["column"], c.column, f["message"])
			}
		})
	}
	fails(t, dir, "grep", obj{"pattern": strings.Repeat("a", maxRegexp+1)}, "VALIDATION_FAILED", "10000")
}

func TestLS(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{"b.txt": "12345", "a.txt": "", "z/x": "", ".ai/x": "", "&": ""}) // JSON escapes it, and Windows permits it
	if err := os.Symlink("z", filepath.Join(dir, "l")); err != nil {
		t.Skip(err)
	}
	got := ok(t, dir, "ls", obj{})
	var out []string
	for _, e := range got["entries"].([]any) {
		e := e.(obj)
		out = append(out, fmt.Sprintf("%v:%v:%v", e["name"], e["type"], e["size"]))
	}
	if s := strings.Join(out, " "); s != ".ai:dir:0 z:dir:0 &:file:0 a.txt:file:0 b.txt:file:5 l:link:0" {
		t.Errorf("entries %s", s)
	}
	if got["path"] != "." || got["count"] != float64(6) {
		t.Errorf("path %v count %v", got["path"], got["count"])
	}
	if got := ok(t, dir, "ls", obj{"path": "l"}); got["path"] != "z" || got["count"] != float64(1) {
		t.Errorf("through a link: %v", got)
	}
	fails(t, dir, "ls", obj{"path": "a.txt"}, "NOT_REGULAR", "not a directory")
	fails(t, dir, "ls", obj{"path": "no"}, "FILE_SYSTEM_ERROR", `"no"`)
}
