package lock

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// TestTreeGolden holds the vectors of docs/reference/format/lock.md.
func TestTreeGolden(t *testing.T) {
	hello := TreeFile{Path: ".ai/tools/demo/hello.py", Mode: ModeExecutable, Size: 15, Digest: digestOf("print(\"hello\")\n")}
	readme := TreeFile{Path: "README.md", Mode: ModeRegular, Size: 7, Digest: digestOf("# Demo\n")}
	page := string(docPage(t, "lock.md"))
	for _, files := range [][]TreeFile{nil, {readme}, {hello, readme}} {
		got, err := HashTree(files)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page, "`"+got+"`") {
			t.Errorf("docs/reference/format/lock.md lacks %s, the hash of %d files", got, len(files))
		}
		for _, f := range files {
			if line := string(f.line()); !strings.Contains(page, line) {
				t.Errorf("docs/reference/format/lock.md lacks the line %q", line)
			}
		}
	}
	turned, _ := HashTree([]TreeFile{hello, readme})
	same, _ := HashTree([]TreeFile{readme, hello})
	if turned != same {
		t.Error("the order of the files changes the hash")
	}
}

func TestTreeHashDiffers(t *testing.T) {
	base := []TreeFile{{Path: "a", Mode: ModeRegular, Digest: digestOf("1")}, {Path: "b/c", Mode: ModeRegular, Digest: digestOf("2")}}
	seen := map[string]string{}
	for name, change := range map[string]func([]TreeFile) []TreeFile{
		"same":         func(f []TreeFile) []TreeFile { return f },
		"mode":         func(f []TreeFile) []TreeFile { f[0].Mode = ModeExecutable; return f },
		"content":      func(f []TreeFile) []TreeFile { f[0].Digest = digestOf("3"); return f },
		"name":         func(f []TreeFile) []TreeFile { f[0].Path = "d"; return f },
		"folder":       func(f []TreeFile) []TreeFile { f[1].Path = "b/c/c"; return f },
		"swapped":      func(f []TreeFile) []TreeFile { f[0].Digest, f[1].Digest = f[1].Digest, f[0].Digest; return f },
		"one less":     func(f []TreeFile) []TreeFile { return f[:1] },
		"none":         func([]TreeFile) []TreeFile { return nil },
		"one more":     func(f []TreeFile) []TreeFile { return append(f, TreeFile{Path: "e", Mode: ModeRegular}) },
		"name of line": func(f []TreeFile) []TreeFile { f[0].Path = "a  " + digestOf("2").Hex() + "b"; return f },
	} {
		h, err := HashTree(change(append([]TreeFile(nil), base...)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if other, taken := seen[h]; taken {
			t.Errorf("%s and %s share a hash", name, other)
		}
		seen[h] = name
	}
}

func TestBadTrees(t *testing.T) {
	file := func(p string) TreeFile { return TreeFile{Path: p, Mode: ModeRegular} }
	many := make([]TreeFile, MaxTreeFiles+1)
	for i := range many {
		many[i] = file(fmt.Sprint("f", i))
	}
	for _, tc := range []struct {
		name  string
		files []TreeFile
		code  diag.Code
		want  string
	}{
		{"link", []TreeFile{{Path: "a", Mode: 0o120000}}, diag.NotRegular, "symbolic link"},
		{"submodule", []TreeFile{{Path: "a", Mode: 0o160000}}, diag.NotRegular, "submodule"},
		{"folder", []TreeFile{{Path: "a", Mode: 0o040000}}, diag.NotRegular, "its mode"},
		{"set-uid", []TreeFile{{Path: "a", Mode: 0o104755}}, diag.NotRegular, "its mode"},
		{"writable by a group", []TreeFile{{Path: "a", Mode: 0o100664}}, diag.NotRegular, "its mode"},
		{"no mode", []TreeFile{{Path: "a"}}, diag.NotRegular, "its mode"},
		{"big", []TreeFile{{Path: "a", Mode: ModeRegular, Size: MaxTreeFile + 1}}, diag.TooLarge, "larger"},
		{"negative", []TreeFile{{Path: "a", Mode: ModeRegular, Size: -1}}, diag.TooLarge, "larger"},
		{"many", many, diag.TooLarge, "20001 files"},
		{"twice", []TreeFile{file("a"), file("a")}, diag.PathEscape, "one name"},
		{"case", []TreeFile{file("x/README"), file("x/readme")}, diag.PathEscape, "one name"},
		{"case of a folder", []TreeFile{file("X/a"), file("x/b")}, diag.PathEscape, "one name"},
		{"long s", []TreeFile{file("s"), file("\u017f")}, diag.PathEscape, "one name"},
		{"file and folder", []TreeFile{file("a"), file("a/b")}, diag.PathEscape, "one name"},
		{"folder and file", []TreeFile{file("a/b"), file("A")}, diag.PathEscape, "one name"},
		{"empty", []TreeFile{file("")}, diag.PathEscape, "empty"},
		{"long", []TreeFile{file(strings.Repeat("a/", 300) + "a")}, diag.PathEscape, "too long"},
		{"climbs", []TreeFile{file("../a")}, diag.PathEscape, "canonical"},
		{"climbs inside", []TreeFile{file("a/../../b")}, diag.PathEscape, "canonical"},
		{"absolute", []TreeFile{file("/a")}, diag.PathEscape, "canonical"},
		{"point", []TreeFile{file("./a")}, diag.PathEscape, "canonical"},
		{"folder's end", []TreeFile{file("a/")}, diag.PathEscape, "canonical"},
		{"line end", []TreeFile{file("a\nb")}, diag.PathEscape, "its path"},
		{"NUL", []TreeFile{file("a\x00b")}, diag.PathEscape, "its path"},
		{"not UTF-8", []TreeFile{file("a\xff")}, diag.PathEscape, "its path"},
		{"backslash", []TreeFile{file(`a\b`)}, diag.PathEscape, "its path"},
		{"device", []TreeFile{file("a/nul.txt")}, diag.PathEscape, "some systems"},
		{"stream", []TreeFile{file("a:b")}, diag.PathEscape, "some systems"},
		{"last point", []TreeFile{file("a./b")}, diag.PathEscape, "some systems"},
		{"last space", []TreeFile{file("a /b")}, diag.PathEscape, "ends in a space"},
		{"git", []TreeFile{file("a/.GIT/hooks/x")}, diag.PathEscape, ".git directory"},
		{"short git", []TreeFile{file("git~1/x")}, diag.PathEscape, ".git directory"},
		{"bidi", []TreeFile{file("a\u202eb")}, diag.PathEscape, "invisible"},
		{"zero width", []TreeFile{file("a\u200bb")}, diag.PathEscape, "invisible"},
		{"two spellings", []TreeFile{file("\u1112\u1161")}, diag.PathEscape, "two encodings"},
		{"two spellings, extended jamo", []TreeFile{file("\ua960")}, diag.PathEscape, "two encodings"},
		{"two spellings, last jamo", []TreeFile{file("\ud7fb")}, diag.PathEscape, "two encodings"},
		{"first compatibility ideograph", []TreeFile{file("\uf900")}, diag.PathEscape, "two encodings"},
		{"last compatibility ideograph", []TreeFile{file("\ufad9")}, diag.PathEscape, "two encodings"},
		{"compatibility supplement", []TreeFile{file("\U0002f800")}, diag.PathEscape, "two encodings"},
	} {
		fs := CheckTree(tc.files)
		_, err := HashTree(tc.files)
		if len(fs) != 1 || fs[0].Code != tc.code || !strings.Contains(fs[0].Message, tc.want) || diag.CodeOf(err) != tc.code {
			t.Errorf("%s: %v, %v, want %s %q", tc.name, fs, err, tc.code, tc.want)
		}
	}
	sized := make([]TreeFile, 9)
	for i := range sized {
		sized[i] = TreeFile{Path: fmt.Sprint(i), Mode: ModeRegular, Size: MaxTreeFile}
	}
	if fs := CheckTree(sized); len(fs) != 1 || fs[0].Code != diag.TooLarge {
		t.Errorf("9 files of the largest size: %v", fs)
	}
	if fs := CheckTree(sized[:8]); len(fs) != 0 {
		t.Errorf("8 files of the largest size: %v", fs)
	}
}

// TestTreeHashProperty compares random small trees pairwise: the hashes are
// equal exactly when the trees are.
func TestTreeHashProperty(t *testing.T) {
	seen := map[string]string{}
	for seed := range int64(2000) {
		r := rand.New(rand.NewSource(seed))
		form := map[string]string{}
		var files []TreeFile
		for range r.Intn(3) {
			f := TreeFile{Path: []string{"a", "b", "c d", "e/f"}[r.Intn(4)], Mode: []Mode{ModeRegular, ModeExecutable}[r.Intn(2)], Digest: digestOf(fmt.Sprint(r.Intn(2)))}
			if form[f.Path] == "" {
				files = append(files, f)
			}
			form[f.Path] = fmt.Sprintf("%o %s", files[len(files)-1].Mode, files[len(files)-1].Digest)
		}
		form = map[string]string{}
		for _, f := range files {
			form[f.Path] = fmt.Sprintf("%o %s", f.Mode, f.Digest)
		}
		h, err := HashTree(files)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(form)
		if other, taken := seen[h]; taken && other != text {
			t.Fatalf("%s and %s share a hash", text, other)
		}
		seen[h] = text
	}
	forms := map[string]bool{}
	for _, text := range seen {
		if forms[text] {
			t.Fatalf("%s has two hashes", text)
		}
		forms[text] = true
	}
	if len(seen) < 50 {
		t.Errorf("only %d trees", len(seen))
	}
}
