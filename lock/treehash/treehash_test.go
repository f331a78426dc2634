package treehash

import (
	"fmt"
	"math/rand"
	"os"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// TestTreeGolden holds the vectors of docs/reference/format/lock.md.
func TestTreeGolden(t *testing.T) {
	hello := File{Path: ".ai/tools/demo/hello.py", Mode: Executable, Size: 15, Digest: item.DigestOf([]byte("print(\"hello\")\n"))}
	readme := File{Path: "README.md", Mode: Regular, Size: 7, Digest: item.DigestOf([]byte("# Demo\n"))}
	page := string(docPage(t))
	for _, files := range [][]File{nil, {readme}, {hello, readme}} {
		got, err := Of(files)
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
	turned, _ := Of([]File{hello, readme})
	same, _ := Of([]File{readme, hello})
	if turned != same {
		t.Error("the order of the files changes the hash")
	}
}

func TestTreeHashDiffers(t *testing.T) {
	base := []File{{Path: "a", Mode: Regular, Digest: item.DigestOf([]byte("1"))}, {Path: "b/c", Mode: Regular, Digest: item.DigestOf([]byte("2"))}}
	seen := map[string]string{}
	for name, change := range map[string]func([]File) []File{
		"same":         func(f []File) []File { return f },
		"mode":         func(f []File) []File { f[0].Mode = Executable; return f },
		"content":      func(f []File) []File { f[0].Digest = item.DigestOf([]byte("3")); return f },
		"name":         func(f []File) []File { f[0].Path = "d"; return f },
		"folder":       func(f []File) []File { f[1].Path = "b/c/c"; return f },
		"swapped":      func(f []File) []File { f[0].Digest, f[1].Digest = f[1].Digest, f[0].Digest; return f },
		"one less":     func(f []File) []File { return f[:1] },
		"none":         func([]File) []File { return nil },
		"one more":     func(f []File) []File { return append(f, File{Path: "e", Mode: Regular}) },
		"name of line": func(f []File) []File { f[0].Path = "a  " + item.DigestOf([]byte("2")).Hex() + "b"; return f },
	} {
		h, err := Of(change(append([]File(nil), base...)))
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
	file := func(p string) File { return File{Path: p, Mode: Regular} }
	many := make([]File, MaxFiles+1)
	for i := range many {
		many[i] = file(fmt.Sprint("f", i))
	}
	for _, tc := range []struct {
		name  string
		files []File
		code  diag.Code
		want  string
	}{
		{"link", []File{{Path: "a", Mode: 0o120000}}, diag.NotRegular, "symbolic link"},
		{"submodule", []File{{Path: "a", Mode: 0o160000}}, diag.NotRegular, "submodule"},
		{"folder", []File{{Path: "a", Mode: 0o040000}}, diag.NotRegular, "its mode"},
		{"set-uid", []File{{Path: "a", Mode: 0o104755}}, diag.NotRegular, "its mode"},
		{"writable by a group", []File{{Path: "a", Mode: 0o100664}}, diag.NotRegular, "its mode"},
		{"no mode", []File{{Path: "a"}}, diag.NotRegular, "its mode"},
		{"big", []File{{Path: "a", Mode: Regular, Size: MaxFile + 1}}, diag.TooLarge, "larger"},
		{"negative", []File{{Path: "a", Mode: Regular, Size: -1}}, diag.TooLarge, "larger"},
		{"many", many, diag.TooLarge, "20001 files"},
		{"twice", []File{file("a"), file("a")}, diag.PathEscape, "one name"},
		{"case", []File{file("x/README"), file("x/readme")}, diag.PathEscape, "one name"},
		{"case of a folder", []File{file("X/a"), file("x/b")}, diag.PathEscape, "one name"},
		{"long s", []File{file("s"), file("\u017f")}, diag.PathEscape, "one name"},
		{"file and folder", []File{file("a"), file("a/b")}, diag.PathEscape, "one name"},
		{"folder and file", []File{file("a/b"), file("A")}, diag.PathEscape, "one name"},
		{"empty", []File{file("")}, diag.PathEscape, "empty"},
		{"long", []File{file(strings.Repeat("a/", 300) + "a")}, diag.PathEscape, "too long"},
		{"climbs", []File{file("../a")}, diag.PathEscape, "canonical"},
		{"climbs inside", []File{file("a/../../b")}, diag.PathEscape, "canonical"},
		{"absolute", []File{file("/a")}, diag.PathEscape, "canonical"},
		{"point", []File{file("./a")}, diag.PathEscape, "canonical"},
		{"folder's end", []File{file("a/")}, diag.PathEscape, "canonical"},
		{"line end", []File{file("a\nb")}, diag.PathEscape, "its path"},
		{"NUL", []File{file("a\x00b")}, diag.PathEscape, "its path"},
		{"not UTF-8", []File{file("a\xff")}, diag.PathEscape, "its path"},
		{"backslash", []File{file(`a\b`)}, diag.PathEscape, "its path"},
		{"device", []File{file("a/nul.txt")}, diag.PathEscape, "some systems"},
		{"stream", []File{file("a:b")}, diag.PathEscape, "some systems"},
		{"last point", []File{file("a./b")}, diag.PathEscape, "some systems"},
		{"last space", []File{file("a /b")}, diag.PathEscape, "ends in a space"},
		{"git", []File{file("a/.GIT/hooks/x")}, diag.PathEscape, ".git directory"},
		{"short git", []File{file("git~1/x")}, diag.PathEscape, ".git directory"},
		{"bidi", []File{file("a\u202eb")}, diag.PathEscape, "invisible"},
		{"zero width", []File{file("a\u200bb")}, diag.PathEscape, "invisible"},
		{"two spellings", []File{file("\u1112\u1161")}, diag.PathEscape, "two encodings"},
		{"two spellings, extended jamo", []File{file("\ua960")}, diag.PathEscape, "two encodings"},
		{"two spellings, last jamo", []File{file("\ud7fb")}, diag.PathEscape, "two encodings"},
		{"first compatibility ideograph", []File{file("\uf900")}, diag.PathEscape, "two encodings"},
		{"last compatibility ideograph", []File{file("\ufad9")}, diag.PathEscape, "two encodings"},
		{"compatibility supplement", []File{file("\U0002f800")}, diag.PathEscape, "two encodings"},
	} {
		fs := Check(tc.files)
		_, err := Of(tc.files)
		if len(fs) != 1 || fs[0].Code != tc.code || !strings.Contains(fs[0].Message, tc.want) || diag.CodeOf(err) != tc.code {
			t.Errorf("%s: %v, %v, want %s %q", tc.name, fs, err, tc.code, tc.want)
		}
	}
	sized := make([]File, 9)
	for i := range sized {
		sized[i] = File{Path: fmt.Sprint(i), Mode: Regular, Size: MaxFile}
	}
	if fs := Check(sized); len(fs) != 1 || fs[0].Code != diag.TooLarge {
		t.Errorf("9 files of the largest size: %v", fs)
	}
	if fs := Check(sized[:8]); len(fs) != 0 {
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
		var files []File
		for range r.Intn(3) {
			f := File{Path: []string{"a", "b", "c d", "e/f"}[r.Intn(4)], Mode: []Mode{Regular, Executable}[r.Intn(2)], Digest: item.DigestOf([]byte(fmt.Sprint(r.Intn(2))))}
			if form[f.Path] == "" {
				files = append(files, f)
			}
			form[f.Path] = fmt.Sprintf("%o %s", files[len(files)-1].Mode, files[len(files)-1].Digest)
		}
		form = map[string]string{}
		for _, f := range files {
			form[f.Path] = fmt.Sprintf("%o %s", f.Mode, f.Digest)
		}
		h, err := Of(files)
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

func docPage(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("../../docs/reference/format/lock.md")
	if err != nil {
		t.Fatal(err)
	}
	return b
}
