package hidden_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
)

// pyc is the head of python bytecode with these flags.
func pyc(flags byte) string {
	return "\xcb\x0d\r\n" + string([]byte{flags, 0, 0, 0}) + "12345678" + "\xe3code"
}

const emptyZip = "PK\x05\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

func TestBlobs(t *testing.T) {
	const refused, odd, plain = "error", "warning", ""
	for _, c := range []struct {
		name, path, bytes string
		executable        bool
		others            []string
		want, message     string
	}{
		{"a text", "README.md", "# Tools\n", false, nil, plain, ""},
		{"Arabic and an emoji", "README.md", "\u0645\u0631\u062d\u0628\u0627 \U0001F469\u200D\U0001F4BB\n", false, nil, plain, ""},
		{"an image", "logo.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", false, nil, plain, ""},
		{"latin letters of an old encoding", "data/names.csv", "M\xfcller\n", false, nil, plain, ""},
		{"bidi in a readme", "docs/README.md", "ok \u202Eevil\u202C\n", false, nil, refused, "bidirectional"},
		{"tags", "x.json", "{\"a\": \"\U000E0041\U000E0042\"}", false, nil, refused, "spelling \"AB\""},
		{"a zero width space", "x.txt", "a \u200bb", false, nil, odd, "zero-width"},
		{"a zero width space in a word", "x.txt", "a\u200bb", false, nil, refused, "zero-width"},
		{"a zero width space next to a name of a program", "x.rs", "a\u200b()", false, nil, refused, "zero-width"},
		{"code that is no text", "lib/x.py", "print(1)\x00 # \u202E\n", false, nil, refused, "control"},
		{"a script that is no text", "run", "#!/bin/sh\necho \xff\n", false, nil, refused, "invalid UTF-8"},
		{"blank lines", "x.txt", "a" + strings.Repeat("\n", 300) + "b\n", false, nil, odd, "299 blank lines"},
		{"a long line", "x.txt", strings.Repeat("x", hidden.MaxLine+1), false, nil, odd, "this line has"},
		{"a huge text", "x.txt", strings.Repeat("x\n", hidden.MaxText/2+1), false, nil, odd, "reviewers rarely read it"},
		{"two alphabets", "x.sh", "\u0440aypal=1\n", false, nil, odd, "different alphabets"},

		{"bytecode alone", "lib/x.pyc", pyc(0), false, nil, refused, "without its source"},
		{"empty bytecode alone", "lib/x.PYC", "", false, nil, refused, "without its source"},
		{"bytecode in the cache folder alone", "lib/__pycache__/x.cpython-313.pyc", pyc(0), false, []string{"lib/__pycache__/x.py"}, refused, "without its source"},
		{"bytecode with its source", "lib/__pycache__/x.cpython-313.pyc", pyc(0), false, []string{"lib/x.py"}, odd, "bytecode"},
		{"bytecode at the top with its source", "__pycache__/x.cpython-313.pyc", pyc(3), false, []string{"x.py"}, odd, "bytecode"},
		{"bytecode that is not compared", "lib/__pycache__/x.cpython-313.pyc", pyc(1), false, []string{"lib/x.py"}, refused, "without checking"},
		{"bytecode under another name", "lib/data.bin", pyc(0), false, nil, refused, "under another name"},
		{"two lines of a text", "x.txt", "ab\r\ncdefghijklmnopqrs\r\n", false, nil, plain, ""},
		{"a class alone", "A.class", "\xca\xfe\xba\xbe", false, nil, refused, "without its source"},
		{"a class with its source", "A.class", "\xca\xfe\xba\xbe", false, []string{"A.kt"}, odd, "bytecode"},

		{"a zip", "data.bin", "PK\x03\x04rest", false, nil, odd, "archive"},
		{"an archive by its name", "x.tar.GZ", "?", false, nil, odd, "archive"},
		{"a tar", "x", strings.Repeat("a", 257) + "ustar\x00", false, nil, odd, "archive"},
		{"bzip2", "x", "BZh91AY&SYxxxxx", false, nil, odd, "archive"},
		{"a text that begins like bzip2", "x.txt", "BZh is a prefix\n", false, nil, plain, ""},
		{"a zip that runs", "lib/x.py", "PK\x03\x04rest", false, nil, refused, "an interpreter runs"},
		{"a zip among tools", ".ai/tools/x.zip", "PK\x03\x04rest", false, nil, odd, "archive"},
		{"a zip among tools under another name", ".ai/tools/x.dat", "PK\x03\x04rest", false, nil, refused, "an interpreter runs"},
		{"a zip behind a script", "run", "#!/usr/bin/env python3\n" + emptyZip, true, nil, refused, "an interpreter runs"},
		{"a jar", "lib/x.jar", "PK\x03\x04rest", false, nil, refused, "an interpreter runs"},
		{"the end of a zip in a text", "x.txt", "PK\x05\x06 is how a zip ends\n", false, nil, odd, "archive"},
		{"a program", "bin/x", "\x7fELF\x02\x01", true, nil, odd, "compiled"},
		{"nothing", "empty.py", "", true, nil, plain, ""},
	} {
		has := func(p string) bool { return slices.Contains(c.others, p) }
		fs := hidden.Blobs(hidden.Blob{Path: c.path, Bytes: []byte(c.bytes), Executable: c.executable}, has)
		got := plain
		for _, f := range fs {
			if f.Code != diag.HiddenChars || f.Path != c.path {
				t.Errorf("%s: %s", c.name, f)
			}
			if got != refused {
				got = string(f.Severity)
			}
		}
		if got != c.want || !slices.ContainsFunc(fs, func(f diag.Finding) bool { return strings.Contains(f.Message, c.message) }) && c.want != plain {
			t.Errorf("%s: %q %v, want %q with %q", c.name, got, fs, c.want, c.message)
		}
	}
}
