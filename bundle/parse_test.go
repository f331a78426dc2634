package bundle

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
)

const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func example() *Manifest {
	d, _ := item.ParseDigest("sha256:" + sum)
	return &Manifest{
		ID: "github.com/acme/core", Version: "1.2.3-rc.1", Type: "package", Description: `States "yes: #1", \ and é.`, Entrypoint: "directive:acme/start",
		CreatedAt: "2026-11-20T00:00:00Z", Requires: map[string]string{"acme": "v1.0.0", "true": "2.0.0"},
		Files: []File{
			{Path: ".ai/knowledge/acme/Ünïcode und so.md", Digest: d, Size: 12},
			{Path: ".ai/tools/acme/#1.yaml", Digest: d, Size: 0, Signed: true},
			{Path: ".ai/tools/acme/a.sh", Digest: d, Size: MaxFile, Executable: true},
		},
	}
}

// slow reads as Parse does without the short way.
func slow(b []byte) (*Manifest, []diag.Finding) {
	doc, fs := yamlx.Parse(b)
	if doc == nil {
		return nil, fs
	}
	m, found := readManifest(doc)
	if fs = append(fs, found...); diag.Failed(fs) {
		return nil, fs
	}
	return m, fs
}

func TestBothReadersAgree(t *testing.T) {
	b := example().Render()
	quick, ok := canonical(b, false)
	if !ok {
		t.Fatalf("the short way does not read what Render writes:\n%s", b)
	}
	long, fs := slow(b)
	if !reflect.DeepEqual(quick, long) || !reflect.DeepEqual(quick, example()) {
		t.Errorf("the short way reads\n%+v, YAML\n%+v %v\nof\n%s", quick, long, fs, b)
	}
}

func TestParseAcceptsOtherYAMLOfTheSameMeaning(t *testing.T) {
	b := `# by hand
files:
  '.ai/tools/a.py':
    size: 1
    inline_signed: false
    mode: '0644'
    sha256: "` + sum + `"
bundle: {version: 1.0.0, id: 'a'}
`
	m, fs := Parse([]byte(b))
	if m == nil || m.ID != "a" || m.Version != "1.0.0" || m.Type != "package" || len(m.Files) != 1 || m.Files[0].Size != 1 {
		t.Fatalf("%+v, %v", m, fs)
	}
	if _, ok := canonical([]byte(b), false); ok {
		t.Error("the short way reads what Render does not write")
	}
}

func TestParseHostileManifests(t *testing.T) {
	file := func(p string) string {
		return fmt.Sprintf("  %q: {sha256: %q, size: 1, mode: \"0644\", inline_signed: false}\n", p, sum)
	}
	head := "bundle:\n  id: a\n  version: \"1.0.0\"\n  type: package\nfiles:\n"
	whole := func(p string) string { return head + file(p) }
	one := whole(".ai/tools/a.py")
	for name, c := range map[string]struct {
		src  string
		code diag.Code
		line int
	}{
		"empty":            {"", diag.ParsingError, 0},
		"scalar":           {"hello", diag.ParsingError, 0},
		"truncated":        {one[:len(one)-20], diag.ParsingError, 0},
		"nul":              {one + "\x00", "", 0},
		"bom":              {"\ufeff" + one, "", 0},
		"invalid utf-8":    {strings.Replace(one, "a.py", "a\xff.py", 1), "", 0},
		"two documents":    {one + "---\n" + one, diag.ParsingError, 0},
		"duplicate file":   {one + file(".ai/tools/a.py"), diag.ParsingError, 7},
		"anchor":           {strings.Replace(one, "id: a", "id: &x a", 1), diag.ParsingError, 2},
		"no files":         {"bundle:\n  id: a\n  version: \"1.0.0\"\n", diag.ValidationFailed, 1},
		"files is a list":  {"bundle:\n  id: a\n  version: \"1.0.0\"\nfiles: []\n", diag.ValidationFailed, 4},
		"no bundle":        {"files: {}\n", diag.ValidationFailed, 1},
		"unknown field":    {strings.Replace(one, "  type", "  typo: x\n  type", 1), diag.ValidationFailed, 4},
		"unknown section":  {one + "trust: {}\n", diag.ValidationFailed, 7},
		"version":          {strings.Replace(one, "1.0.0", "1.0", 1), diag.ValidationFailed, 3},
		"version number":   {strings.Replace(one, `"1.0.0"`, "1.5", 1), diag.ValidationFailed, 3},
		"id":               {strings.Replace(one, "id: a", "id: ../a", 1), diag.ValidationFailed, 2},
		"created_at":       {strings.Replace(one, "  type", "  created_at: \"yesterday\"\n  type", 1), diag.ValidationFailed, 4},
		"created_at zone":  {strings.Replace(one, "  type", "  created_at: \"2026-11-20T00:00:00+01:00\"\n  type", 1), diag.ValidationFailed, 4},
		"upper-case hash":  {strings.Replace(one, sum, strings.ToUpper(sum), 1), diag.ValidationFailed, 6},
		"short hash":       {strings.Replace(one, sum, sum[:62], 1), diag.ValidationFailed, 6},
		"hash of digits":   {strings.Replace(one, `"`+sum+`"`, strings.Repeat("1", 64), 1), "", 6},
		"size below zero":  {strings.Replace(one, "size: 1", "size: -1", 1), diag.ValidationFailed, 6},
		"size too large":   {strings.Replace(one, "size: 1", "size: 67108865", 1), diag.ValidationFailed, 6},
		"size as a text":   {strings.Replace(one, "size: 1", "size: '1'", 1), diag.ValidationFailed, 6},
		"setuid":           {strings.Replace(one, "0644", "4755", 1), diag.ValidationFailed, 6},
		"octal mode":       {strings.Replace(one, `"0644"`, "0644", 1), diag.ValidationFailed, 6},
		"not signed":       {strings.Replace(one, "inline_signed: false", "inline_signed: no", 1), diag.ValidationFailed, 6},
		"field left out":   {strings.Replace(one, "size: 1, ", "", 1), diag.ValidationFailed, 6},
		"dot dot":          {whole(".ai/tools/../../x"), diag.PathEscape, 6},
		"absolute":         {whole("/etc/passwd"), diag.PathEscape, 6},
		"outside .ai":      {whole("README.md"), diag.PathEscape, 6},
		"trust":            {whole(".ai/trust/key-x.toml"), diag.PathEscape, 6},
		"Trust":            {whole(".ai/Trust/key-x.toml"), diag.PathEscape, 6},
		"another bundle":   {whole(".ai/bundles/b/manifest.yaml"), diag.PathEscape, 6},
		"case":             {one + file(".ai/tools/A.py"), diag.PathEscape, 6},
		"case of a folder": {whole(".ai/tools/X/a.py") + file(".ai/tools/x/b.py"), diag.PathEscape, 7},
		"file and folder":  {one + file(".ai/tools/a.py/b"), diag.PathEscape, 7},
		"kelvin sign":      {whole(".ai/tools/k.py") + file(".ai/tools/\u212a.py"), diag.PathEscape, 7},
	} {
		m, fs := Parse([]byte(c.src))
		if m != nil || len(fs) == 0 {
			t.Errorf("%s: accepted: %+v", name, m)
			continue
		}
		if f := fs[0]; c.code != "" && f.Code != c.code || c.line != 0 && f.Line != c.line {
			t.Errorf("%s: %s at line %d, want %s at line %d: %v", name, f.Code, f.Line, c.code, c.line, fs)
		}
	}
}

func TestParseCollectsEveryFinding(t *testing.T) {
	src := "bundle:\n  id: a b\n  version: x\n  color: red\nfiles:\n  /x: {sha256: a, size: -1, mode: x, inline_signed: 1}\n"
	if _, fs := Parse([]byte(src)); len(fs) != 8 {
		t.Errorf("%d findings: %v", len(fs), fs)
	}
}

func TestParseLimits(t *testing.T) {
	m := example()
	m.Files = nil
	for i := range MaxFiles {
		m.Files = append(m.Files, File{Path: fmt.Sprintf(".ai/tools/f%05d.py", i)})
	}
	b := m.Render()
	if len(b) > MaxManifest {
		t.Fatalf("%d files need %d bytes", MaxFiles, len(b))
	}
	if got, fs := Parse(b); got == nil || len(got.Files) != MaxFiles {
		t.Fatalf("at the limit: %v", fs)
	}
	m.Files = append(m.Files, File{Path: ".ai/tools/zzzzzz.py"})
	if got, fs := Parse(m.Render()); got != nil || fs[0].Code != diag.TooLarge {
		t.Errorf("one file too many: %v", fs)
	}
	if got, fs := Parse(make([]byte, MaxManifest+1)); got != nil || fs[0].Code != diag.TooLarge {
		t.Errorf("one byte too many: %v", fs)
	}
}

// V33, V39: names that one system or another takes for something else.
func TestCheckPath(t *testing.T) {
	for _, p := range []string{
		".ai/tools/a.py", ".ai/tools/__init__.py", ".ai/tools/.env.example", ".ai/skills/x/SKILL.md", ".ai/tools/a b/c#1.txt",
		".ai/tools/日本.md", ".ai/tools/" + strings.Repeat("a", 255), ".ai/tools/gitfoo", ".ai/tools/x.trust",
	} {
		if err := CheckPath(p); err != nil {
			t.Errorf("CheckPath(%q): %v", p, err)
		}
	}
	for _, p := range []string{
		"", ".ai", ".ai/", "ai/x", ".AI/tools/x", "/.ai/x", "./.ai/x", ".ai//x", ".ai/./x", ".ai/x/", ".ai/tools/../x", ".ai/..", "..",
		`.ai\tools\x`, `.ai/tools/a\b`, "C:/.ai/x", ".ai/a:b", ".ai/tools/CON", ".ai/tools/con.py", ".ai/tools/aux.tar.gz", ".ai/tools/COM1",
		".ai/tools/lpt9.x", ".ai/tools/x.", ".ai/tools/x ", ".ai/tools/x /y", ".ai/tools/a?b", ".ai/tools/a*b", ".ai/tools/a|b", ".ai/tools/a<b", ".ai/tools/\"x\"",
		".ai/tools/.git/config", ".ai/tools/.GIT/config", ".ai/git~1/x", ".ai/tools/.g\u200cit/x", ".ai/tools/a\x00b", ".ai/tools/a\nb", ".ai/tools/a\x7fb",
		".ai/tools/a\xff", ".ai/tools/a\u202eb", ".ai/tools/e\u0301.md", ".ai/tools/\u1112\u1161.md", ".ai/tools/\uf900.md", ".ai/tools/\u3164.md",
		".ai/tools/__pycache__/x", ".ai/tools/x.pyc", ".ai/trust/x", ".ai/trusted_keys/x", ".ai/keys/x", ".ai/threads/x", ".ai/cache/x", ".ai/bundles/x", ".ai/Bundles/x",
		".ai/tools/" + strings.Repeat("a", 256), ".ai/" + strings.Repeat("a/", 300) + "b",
	} {
		if err := CheckPath(p); diag.CodeOf(err) != diag.PathEscape {
			t.Errorf("CheckPath(%q): %v", p, err)
		}
	}
}

func TestCheckID(t *testing.T) {
	for _, id := range []string{"a", "rye-core", "github.com/acme/core-bundle", "acme/v2", "_x", "1.2"} {
		if err := CheckID(id); err != nil {
			t.Errorf("CheckID(%q): %v", id, err)
		}
	}
	for _, id := range []string{"", "/", "a/", "/a", "a//b", "..", "a/../b", ".a", "-a", "a b", "a:b", "é", "con", "a/nul.x", "a.", strings.Repeat("a", 256), "a\nb", ".git", "a\\b"} {
		if CheckID(id) == nil {
			t.Errorf("CheckID(%q) accepts it", id)
		}
	}
}

// Whatever the short way reads, YAML reads the same; and what is read renders
// to what both read again.
func FuzzParse(f *testing.F) {
	good := example().Render()
	f.Add(good)
	f.Add([]byte("bundle:\n  id: a\n  version: \"1.0.0\"\n  type: package\nfiles:\n  rye.yaml: {sha256: \"" + sum + "\", size: 1, mode: \"0644\", inline_signed: false}\n"))
	f.Add(bytes.Replace(good, []byte(`"0755"`), []byte(`"0644"`), 1))
	f.Add(bytes.Replace(good, []byte("acme"), []byte("null"), -1))
	f.Add(bytes.Replace(good, []byte(`\u00e9`), []byte(`\xe9`), 1))
	f.Add([]byte("bundle:\n  id: a\n  version: \"1.0.0\"\n  type: package\nfiles: {}\n"))
	f.Add([]byte("bundle:\n  id: 1e5\n  version: \"1.0.0\"\n  type: on\nfiles:\n  .ai/a: {sha256: \"" + sum + "\", size: 1, mode: \"0644\", inline_signed: true}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		quick, ok := canonical(b, false)
		if ok {
			long, fs := slow(b)
			if !reflect.DeepEqual(quick, long) {
				t.Fatalf("the short way reads %+v, YAML %+v %v", quick, long, fs)
			}
		}
		m, fs := Parse(b)
		if (m == nil) != diag.Failed(fs) {
			t.Fatalf("manifest %v with findings %v", m, fs)
		}
		if m == nil {
			return
		}
		again, fs := slow(m.Render())
		if !reflect.DeepEqual(m, again) && len(m.Requires)+len(m.Files) > 0 {
			t.Fatalf("%+v renders to what reads as %+v %v", m, again, fs)
		}
	})
}

func FuzzCheckPath(f *testing.F) {
	for _, p := range []string{".ai/tools/a.py", ".ai/../x", ".ai/tools/con", ".ai/\u212a", "rye.yaml", "RYE.yaml", "rye.yaml/x", "./rye.yaml", ".ai/rye.yaml"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if CheckPath(p) != nil {
			return
		}
		if !strings.HasPrefix(p, ".ai/") && p != "rye.yaml" || strings.Contains(p, "..\\") || strings.Contains("/"+p+"/", "/../") || strings.ContainsAny(p, "\\:\x00\n") {
			t.Fatalf("CheckPath accepts %q", p)
		}
		m := &Manifest{ID: "a", Version: "1.0.0", Type: "package", Files: []File{{Path: p}}}
		if _, ok := canonical(m.Render(), false); !ok {
			t.Fatalf("a manifest with %q is not read back", p)
		}
		if got, fs := slow(m.Render()); got == nil || got.Files[0].Path != p {
			t.Fatalf("YAML reads %q otherwise: %v", p, fs)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	m := example()
	m.Files = nil
	for i := range 60 {
		m.Files = append(m.Files, File{Path: fmt.Sprintf(".ai/tools/rye/core/file%02d.yaml", i), Size: 1000, Signed: true})
	}
	src := m.Render()
	b.Run("short", func(b *testing.B) {
		for b.Loop() {
			if _, ok := canonical(src, false); !ok {
				b.Fatal("not canonical")
			}
		}
	})
	b.Run("yaml", func(b *testing.B) {
		for b.Loop() {
			if m, _ := slow(src); m == nil {
				b.Fatal("not read")
			}
		}
	})
}
