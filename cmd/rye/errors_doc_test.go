package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
)

// golden compares got with a file, or writes it with RYE_UPDATE_GOLDEN=1.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if os.Getenv("RYE_UPDATE_GOLDEN") == "1" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from the code; RYE_UPDATE_GOLDEN=1 go test ./cmd/rye writes it\n got %d bytes\nwant %d bytes", path, len(got), len(want))
	}
}

func TestErrorsDocument(t *testing.T) {
	golden(t, filepath.Join("..", "..", "docs", "reference", "errors.md"), []byte(errorsDocument()))
}

// errorsDocument renders docs/reference/errors.md from the table of package diag.
func errorsDocument() string {
	var b strings.Builder
	b.WriteString("# Error codes\n\nGenerated from `diag.Table()` by `go test ./cmd/rye` with `RYE_UPDATE_GOLDEN=1`; do not edit.\n")
	b.WriteString("\nA code is stable once released. `rye explain CODE` prints its row and text.\n")
	b.WriteString("\n```sh\nrye explain HASH_MISMATCH\n```\n\n")
	b.WriteString("With several findings the exit status is the first of 6, 5, 7, 3 that occurs, else that of the first error.\n")
	b.WriteString("\n| Exit | Meaning |\n|---|---|\n")
	for _, e := range cli.ExitCodes() {
		fmt.Fprintf(&b, "| %d | %s |\n", e.Status, e.Meaning)
	}
	b.WriteString("\n| Code | Exit | When | Hint |\n|---|---|---|---|\n")
	for _, r := range diag.Table() {
		fmt.Fprintf(&b, "| [%s](#%s) | %d | %s | %s |\n", r.Code, strings.ToLower(string(r.Code)), cli.ExitStatus(r.Code), r.When, cli.CodeHint(r.Code))
	}
	for _, r := range diag.Table() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", r.Code, cli.Explanation(r.Code))
	}
	return b.String()
}

func TestEveryCodeIsExplained(t *testing.T) {
	codes := map[string]bool{}
	for _, r := range diag.Table() {
		codes[string(r.Code)] = true
		if len(cli.Explanation(r.Code)) < 40 {
			t.Errorf("%s has no text in explanations.txt", r.Code)
		}
		if r.When == "" {
			t.Errorf("%s has an incomplete row", r.Code)
		}
		if cli.ExitMeaning(cli.ExitStatus(r.Code)) == "" {
			t.Errorf("%s exits with %d, which the list of exit statuses lacks", r.Code, cli.ExitStatus(r.Code))
		}
	}
	for part := range strings.SplitSeq(cli.ExplanationsText, "\n\n") {
		name, _, _ := strings.Cut(part, "\n")
		if !codes[name] {
			t.Errorf("explanations.txt explains %q, which is not a code", name)
		}
	}
	if cli.Explanation("NO_SUCH_CODE") != "" || cli.Explanation("") != "" {
		t.Error("a code without a text got one")
	}
}
