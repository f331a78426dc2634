package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/hinttable"
)

// hintText is a text of internal/cli/hints.txt with the code of its row.
type hintText struct {
	at, code, text string
}

// hintTexts returns every text of the table of hints.
func hintTexts(t *testing.T) []hintText {
	t.Helper()
	const name = "../../internal/cli/hints.txt"
	table, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []hintText
	for row := range hinttable.Rows(string(table)) {
		out = append(out, hintText{fmt.Sprintf("%s:%d", name, row.Line), row.Code, row.Text})
	}
	return out
}

// hintCommand finds the words after "rye" of each command line in a hint.
var hintCommand = regexp.MustCompile("(?:^|[ `(])rye ((?:[^ `,;:()]+ ?)+)")

// prose are words that end a command line in the sentence around it, and those that
// follow the name of the program.
func prose() []string {
	return strings.Fields(`a again already and as at before can did does first for from has have if in is it lists made makes no of on or prints reads
		removes selects shows signs starts that than the then this to until was when which whose with without works writes wrote you`)
}

// commandLines returns the command lines that a hint names, as words.
func commandLines(text string) [][]string {
	var out [][]string
	for _, m := range hintCommand.FindAllStringSubmatch(text, -1) {
		words := strings.Fields(m[1])
		if i := slices.IndexFunc(words, func(w string) bool { return slices.Contains(prose(), w) }); i >= 0 {
			words = words[:i]
		}
		for i := range words {
			words[i] = strings.Trim(words[i], "'.")
		}
		if len(words) > 0 {
			out = append(out, words)
		}
	}
	return out
}

// TestHintsNameCommands: each command line of a hint has a verb and flags that exist.
func TestHintsNameCommands(t *testing.T) {
	n := 0
	for _, h := range hintTexts(t) {
		for _, words := range commandLines(h.text) {
			n++
			_, err := cli.SortArgs(testRoot(), words)
			for _, code := range []diag.Code{diag.UnknownCommand, diag.UnknownFlag} {
				if err != nil && strings.Contains(codesIn(err), string(code)) {
					t.Errorf("%s: %q names rye %s: %v", h.at, h.text, strings.Join(words, " "), err)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d command lines found", n)
	}
}

func codesIn(err error) string {
	out := string(diag.CodeOf(err))
	for _, f := range diag.FindingsOf(err) {
		out += " " + string(f.Code)
	}
	return out
}

// repairs are the commands that a hint names without a flag although they list its
// code: they repair what other commands report, or state a reason of their own for it
// that has another hint. Read what raises a new one before you add it: a user must not run
// one command in a circle.
func repairs() []string {
	return []string{
		"THREAD_NOT_FOUND graph log", // of a run, which is not a thread
		"AMBIGUOUS_ITEM mcp remove", "AMBIGUOUS_ITEM bundle publish", "APPROVAL_REQUIRED sign", "AUTH_REQUIRED key agent-add", "AUTH_REQUIRED setup", "CONSENT_REQUIRED lock",
		"CONSENT_REQUIRED add", // an agent must not review: its user runs it, at a terminal
		"DRIFT export",         // of rye verify and --check; rye export alone raises another reason
		"DRIFT lock", "DRIFT sign", "FILE_SYSTEM_ERROR cache gc", "FILE_SYSTEM_ERROR hook install", "FILE_SYSTEM_ERROR key new",
		"HASH_MISMATCH bundle sign", "SIG_INVALID bundle sign", // after the file is removed
		"HASH_MISMATCH update", "LOCK_MISMATCH update", // after rye sync, which the hint names first
		"HASH_MISMATCH sync", "ITEM_NOT_FOUND bundle publisher", "ITEM_NOT_FOUND list", "KEY_UNKNOWN registry add", "KEY_UNKNOWN registry remove", "KEY_UNKNOWN trust add",
		"LOCK_MISMATCH lock", "LOCK_MISMATCH sync", "LOCK_MISSING lock", "LOCK_STALE lock", "POLICY_DENIED lock",
		"SCOPE bundle publisher", "SIGNER_CHANGED add", "SIGNER_CHANGED remove", "SOURCE_MOVED add",
		"THREAD_STATE graph resume",
		"THREAD_STATE threads answer", "THREAD_STATE threads approve", "THREAD_STATE threads deny", // each is named by the others only
	}
}

// TestHintsLeadElsewhere: a hint names a command without a flag that can fail with the
// code of the hint only if repairs has it.
func TestHintsLeadElsewhere(t *testing.T) {
	found := map[string]bool{}
	for _, h := range hintTexts(t) {
		for _, words := range commandLines(h.text) {
			l, err := cli.SortArgs(testRoot(), words)
			if err != nil || slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--") }) {
				continue
			}
			cmd := l.Path[len(l.Path)-1]
			if !slices.Contains(cmd.Codes, diag.Code(h.code)) {
				continue
			}
			pair := h.code
			for _, c := range l.Path[1:] {
				pair += " " + c.Name
			}
			if found[pair] = true; !slices.Contains(repairs(), pair) {
				t.Errorf("%s: %s is raised by rye %s, and its hint is %q", h.at, h.code, strings.Join(words, " "), h.text)
			}
		}
	}
	for _, pair := range repairs() {
		if !found[pair] {
			t.Errorf("no hint names %q any more", pair)
		}
	}
}
