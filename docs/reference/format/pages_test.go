package format_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

func pages(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.md")
	if err != nil || len(names) < 8 {
		t.Fatalf("%d pages, %v", len(names), err)
	}
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A block that shows an example is directly below a comment that names the file.
var shown = regexp.MustCompile("(?m)^<!-- show (examples/[^ ]+) -->\n")

// TestPagesShowTheExamples compares every block with its file;
// RYE_UPDATE_GOLDEN=1 writes the blocks.
func TestPagesShowTheExamples(t *testing.T) {
	n := 0
	for _, page := range pages(t) {
		text := read(t, page)
		out, count := refreshed(t, page, text)
		n += count
		if out == text {
			continue
		}
		if !updating() {
			t.Errorf("%s shows an example as it is not: run RYE_UPDATE_GOLDEN=1 go test ./docs/format", page)
			continue
		}
		write(t, page, []byte(out))
	}
	if n < 25 {
		t.Errorf("only %d blocks show an example", n)
	}
}

// refreshed returns the page with every block as its file is.
func refreshed(t *testing.T, page, text string) (out string, n int) {
	t.Helper()
	var b strings.Builder
	for {
		at := shown.FindStringSubmatchIndex(text)
		if at == nil {
			b.WriteString(text)
			return b.String(), n
		}
		n++
		name := text[at[2]:at[3]]
		b.WriteString(text[:at[1]])
		b.WriteString(block(read(t, name), language(filepath.Ext(name))))
		text = afterBlock(t, page, text[at[1]:])
	}
}

func afterBlock(t *testing.T, page, rest string) string {
	t.Helper()
	line, rest, _ := strings.Cut(rest, "\n")
	fence := line[:len(line)-len(strings.TrimLeft(line, "`"))]
	_, after, ok := strings.Cut("\n"+rest, "\n"+fence+"\n")
	if len(fence) < 3 || !ok {
		t.Fatalf("%s: a comment names an example and no block follows it", page)
	}
	return after
}

// block fences a text, longer than any fence within.
func block(text, lang string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + lang + "\n" + text + fence + "\n"
}

func language(ext string) string {
	switch ext {
	case ".py":
		return "python"
	case ".sh":
		return "bash"
	case ".pl":
		return "perl"
	case ".js", ".mjs":
		return "js"
	case ".yaml", ".yml":
		return "yaml"
	case ".json", ".toml":
		return ext[1:]
	case ".md":
		return "markdown"
	}
	return "text"
}

// Every example is shown by a page, or at least named.
func TestEveryExampleIsNamed(t *testing.T) {
	var all strings.Builder
	for _, page := range pages(t) {
		all.WriteString(read(t, page))
	}
	for p := range disk(t) {
		if !strings.Contains(all.String(), "examples/"+p) {
			t.Errorf("no page names examples/%s", p)
		}
	}
}

// Every link of the pages leads to a file or heading that exists.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`)
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], "://") || m[1] == "" {
				continue
			}
			if _, err := os.Stat(filepath.FromSlash(m[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
		}
	}
}

// Codes that the pages name exist, and every code of the checks that
// signature.md describes is in it.
func TestPagesNameCodes(t *testing.T) {
	code := regexp.MustCompile("`([A-Z]+(?:_[A-Z]+)*)`")
	notCodes := []string{"PATH", "HOME", "LANG", "TERM", "TMPDIR", "TZ", "CONFIG", "VAR", "NAME", "JSON", "NUL",
		"SANDBOX", "CALLS", "RISK", "RESULT_TOKENS", "IDEMPOTENT", "IDEMPOTENCY", "VOLATILE", "POLLS", "TOUCHES", "RESULT_CONTENT", "PERSISTENT",
		"MALFORMED_FUNCTION_CALL"} // the last one is a word of a service
	for _, page := range pages(t) {
		for _, m := range code.FindAllStringSubmatch(read(t, page), -1) {
			word := m[1]
			if strings.HasPrefix(word, "RYE_") || strings.HasPrefix(word, "CONFIG_S") || strings.HasPrefix(word, "ENV_") ||
				strings.HasPrefix(word, "SOURCE_DATE") || strings.HasPrefix(word, "LC_") || slices.Contains(notCodes, word) {
				continue
			}
			if _, ok := diag.Lookup(diag.Code(word)); !ok {
				t.Errorf("%s names %s, which is not a code", page, word)
			}
		}
	}
	text := read(t, "signature.md")
	for _, c := range []diag.Code{diag.PathEscape, diag.NotRegular, diag.TooLarge, diag.Encoding, diag.Unsigned, diag.SigMalformed, diag.SigMultiple,
		diag.Legacy, diag.HashMismatch, diag.KeyUnknown, diag.KeyWeak, diag.SigInvalid, diag.Scope, diag.NotYetValid, diag.Expired, diag.Revoked, diag.HiddenChars} {
		if !strings.Contains(text, "`"+string(c)+"`") {
			t.Errorf("signature.md does not name %s", c)
		}
	}
}

// The lists in the pages are those of the code.
func TestPagesListWhatTheCodeKnows(t *testing.T) {
	has := func(page, text string) {
		t.Helper()
		if !strings.Contains(read(t, page), text) {
			t.Errorf("%s does not hold %q", page, text)
		}
	}
	for _, s := range sign.Styles() {
		has("signature.md", fmt.Sprintf("| `%s` | `%s` | `%s` |", s.Name, strings.TrimSuffix(s.Open, " "), strings.TrimPrefix(s.Close, " ")))
	}
	for _, u := range []sign.Use{sign.UseItem, sign.UseTrust, sign.UseEndorsement, sign.UseRevocation, sign.UseRotation,
		sign.UseManifest, sign.UseThread, sign.UseCheckpoint, sign.UseToken, sign.UseLog} {
		has("signature.md", "`"+string(u)+"`")
	}
	for _, c := range extract.Codecs() {
		has("extractor.md", "| `"+c+"` |")
	}
	for _, u := range doc.Uses() {
		has("trust-documents.md", "`"+u+"`")
	}
	for _, e := range extract.Boot().All() {
		var exts []string
		for _, ft := range e.Types {
			exts = append(exts, ft.Ext)
		}
		has("items.md", fmt.Sprintf("| `%s` | `.ai/%s/` | `%s` |", e.Kind, e.Folder, strings.Join(exts, " ")))
	}
}
