package sign

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func oldLine(open, closer string) string {
	return open + "rye:signed:2026-02-14T00:27:54Z:" + strings.Repeat("ab", 32) + ":" + strings.Repeat("A-_z", 21) + "AQ==:9fbfabe975fa5a7f" + closer
}

// SIG-6: the original wrote "#" into JavaScript and "<!--" into YAML. Parsers of
// these languages see spaces, and all positions stay the same.
func TestWithoutForeignLegacy(t *testing.T) {
	hash, slash := oldLine("# ", ""), oldLine("// ", "")
	html := oldLine("<!-- ", " -->")
	blank := func(s string) string { return strings.Repeat(" ", len(s)) }
	for _, c := range []struct{ style, file, want string }{
		{"//", hash + "\nlet x\n", blank(hash) + "\nlet x\n"},
		{"//", "#!/usr/bin/env node\n" + hash + "\r\nlet x\n", "#!/usr/bin/env node\n" + blank(hash) + "\r\nlet x\n"},
		{"#", html + "\na: 1\n", blank(html) + "\na: 1\n"},
		{"#", html, blank(html)},
		{"<!--", hash + "\n# T\n", blank(hash) + "\n# T\n"},
		{"#", "<!-- kiwi-mcp:validated:x -->\na: 1\n", blank("<!-- kiwi-mcp:validated:x -->") + "\na: 1\n"},
		{"//", slash + "\nlet x\n", slash + "\nlet x\n"},
		{"#", hash + "\nx\n", hash + "\nx\n"},
		{"//", "# a comment\n" + hash + "\n", "# a comment\n" + hash + "\n"},
		{"//", hash + "\rlet x\r", hash + "\rlet x\r"}, // one line with everything: nothing may be blanked
		{"bare", hash + "\n{}", hash + "\n{}"},
		{"#", "", ""},
	} {
		file := []byte(c.file)
		if got := WithoutForeignLegacy(file, style(t, c.style)); string(got) != c.want {
			t.Errorf("%s %q: got %q", c.style, c.file, got)
		}
		if !bytes.Equal(file, []byte(c.file)) {
			t.Errorf("%q was changed in place", c.file)
		}
	}
}

// Signing drops a line of the original in the comment sign of any of its
// languages, and no code.
func TestSignDropsForeignLegacy(t *testing.T) {
	for _, line := range []string{
		oldLine("# ", ""), oldLine("// ", ""), oldLine("<!-- ", " -->"), oldLine("# ", "|a@b"), oldLine("# ", " x"), "# kiwi-mcp:validated:x import os", "# kiwi-mcp:validated:2025-01-01T00:00:00Z:ab",
		"<!-- kiwi-mcp:signed:x -->",
	} {
		got, _, err := Sign(context.Background(), []byte("#!/x\n"+line+"\nbody\n"), style(t, "//"), tool("a"), golden(), goldenTime())
		if err != nil || string(got) != mustSign(t, "#!/x\nbody\n", style(t, "//"), tool("a")) {
			t.Errorf("%s: %v\n%s", line, err, got)
		}
	}
	for _, line := range []string{oldLine("<!-- ", " --> x"), "<!-- kiwi-mcp:signed:x --> x", oldLine("# ", "\rx")} {
		if _, _, err := Sign(context.Background(), []byte(line+"\nbody\n"), style(t, "#"), tool("a"), golden(), goldenTime()); err == nil {
			t.Errorf("%q was removed with its other content", line)
		}
	}
}

// FuzzUpgrade holds that signing a file with an earlier line takes that line
// away, with its line end, and not one byte more.
func FuzzUpgrade(f *testing.F) {
	f.Add(true, uint8(0), "print(1)\n")
	f.Add(false, uint8(5), "\r\nx\r")
	f.Add(false, uint8(2), "# rye:signed:x\n")
	f.Add(true, uint8(7), "#!/second\nx")
	f.Fuzz(func(t *testing.T, shebang bool, form uint8, tail string) {
		head := ""
		if shebang {
			head = "#!/usr/bin/env x\n"
		}
		line := [...]string{oldLine("# ", ""), oldLine("// ", ""), oldLine("<!-- ", " -->"), oldLine("# ", "|a@b")}[form%4]
		end := [...]string{"\n", "\r\n"}[form/4%2]
		out, changed, err := Sign(context.Background(), []byte(head+line+end+tail), style(t, "#"), tool("a"), golden(), goldenTime())
		if err != nil {
			return // not text, or a second line
		}
		sp, err := SplitFile(out, style(t, "#"))
		if err != nil || !sp.Signed || !changed || string(sp.Body()) != head+tail {
			t.Errorf("%q became %q, %v", head+line+end+tail, out, err)
		}
	})
}
