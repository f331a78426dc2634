package archtest

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// baseline is the commit from which on the rules for commits apply.
const baseline = "0eb789b"

// bare is the one commit since the baseline without a body: it only makes derived files again.
const bare = "e56ab971ee99a6515375847a729144d984dd60f1"

// long are the commits since the baseline whose subjects are too long, by three and four characters.
var long = []string{"d004f1a161c344afab71ffb3625a233424648027", "49817f5d18e0be819d39bd64a3603527c3d9877c"}

// maxSubject is the maximum length of a commit's subject in characters.
const maxSubject = 72

// TestCommits checks the commits since the baseline: the length of the subject,
// and that there is a body. It is skipped without the history.
func TestCommits(t *testing.T) {
	cmd := exec.Command("git", "log", "--no-merges", "-z", "--format=%H%n%B", baseline+"..HEAD")
	out, err := cmd.Output()
	if err != nil {
		t.Skip("no git checkout with the baseline commit: ", err)
	}
	for message := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		for _, p := range commitProblems(message) {
			t.Error(p)
		}
	}
}

// commitProblems checks a message whose first line is the name of the commit.
func commitProblems(message string) []string {
	if message == "" {
		return nil // no commit since the baseline
	}
	name, message, _ := strings.Cut(message, "\n")
	subject, body, _ := strings.Cut(message, "\n")
	var out []string
	if n := len([]rune(subject)); n > maxSubject && !slices.Contains(long, name) {
		out = append(out, fmt.Sprintf("commit %s: the subject has %d characters, more than %d: %s", name, n, maxSubject, subject))
	}
	if strings.TrimSpace(body) == "" && name != bare {
		out = append(out, fmt.Sprintf("commit %s: it has no body: %s", name, subject))
	}
	return out
}

// TestCommitFaults checks that bad messages are found.
func TestCommitFaults(t *testing.T) {
	for message, want := range map[string]int{
		"":                      0,
		"0\na: b\n\nBecause.\n": 0,
		"0\na: b\n":             1,
		"0\na: b\n\n":           1,
		bare + "\na: b\n":       0,
		long[0] + "\n" + strings.Repeat("a", 73) + "\n\nx\n": 0,
		"0\n" + strings.Repeat("ä", 72) + "\n\nx\n":          0,
		"0\n" + strings.Repeat("a", 73) + "\n":               2,
	} {
		if got := commitProblems(message); len(got) != want {
			t.Errorf("%q: %q, want %d", message, got, want)
		}
	}
}
