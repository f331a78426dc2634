package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThreatModel holds docs/reference/threat-model.md against the tree: every threat and
// vector has one row, every test that a row names exists, and what holds is
// shown by one.
func TestThreatModel(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := threatRows(string(text))
	for prefix, n := range map[string]int{"T": 43, "V": 68, "P": 16, "E": 14, "M": 10, "S": 16} {
		for i := range n {
			if id := fmt.Sprintf("%s%d", prefix, i+1); len(rows[id]) != 1 {
				t.Errorf("%s has %d rows", id, len(rows[id]))
			}
		}
	}
	for id, list := range rows {
		for _, row := range list {
			for _, problem := range threatProblems(row) {
				t.Errorf("%s: %s", id, problem)
			}
		}
	}
}

// Each promise about an attacker and about the sandbox was attacked by two scripts: through
// the program, as an attacker would.
func TestThreatAttempts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := threatRows(string(text))
	for id, list := range rows {
		for _, row := range list {
			if problem := attemptsProblem(id, row); problem != "" {
				t.Error(problem)
			}
		}
	}
	none := threatCells("| T1 | a | `sign/line_test.go:TestV16Time` | holds |")
	if attemptsProblem("T1", none) == "" {
		t.Error("a promise without a script passes")
	}
}

func attemptsProblem(id string, row []string) string {
	state, _, _ := strings.Cut(row[len(row)-1], ":")
	if id == "" || !strings.Contains("TS", id[:1]) || state == "later" {
		return ""
	}
	if n := strings.Count(row[len(row)-2], ".txtar`"); n < 2 {
		return fmt.Sprintf("%s names %d scripts with attempts: two are needed", id, n)
	}
	return ""
}

// A row that names what is not there, or promises without a test, is seen.
func TestThreatModelFaults(t *testing.T) {
	for _, row := range []string{
		"| T1 | a | `nothing.txtar` | holds |", "| T1 | a | `sign/line_test.go:TestNothing` | holds |", "| T1 | a | `nothing_test.go:TestX` | holds |",
		"| T1 | a | | holds |", "| T1 | a | | partly: b |", "| T1 | a | `refuse_moved.txtar` | done |", "| T1 | a | `refuse_moved.txtar` | later |", "| T1 | a | `TestScripts` | holds |",
	} {
		if len(threatProblems(threatCells(row))) == 0 {
			t.Errorf("%s passes", row)
		}
	}
	for _, row := range []string{"| V1 | a | `refuse_moved.txtar`<br>`sign/line_test.go:TestV16Time` | holds |", "| V1 | a | | later: b |"} {
		if ps := threatProblems(threatCells(row)); len(ps) > 0 {
			t.Errorf("%s: %v", row, ps)
		}
	}
}

// threatRows returns the cells of the rows with an id, and those of the faults
// of the original under "".
func threatRows(text string) map[string][][]string {
	id := regexp.MustCompile(`^[TVPEMS][0-9]+[a-z]?$`)
	out := map[string][][]string{}
	for line := range strings.Lines(text) {
		row := threatCells(line)
		switch {
		case len(row) < 3 || strings.HasPrefix(row[0], "---") || row[1] == "Attacker" || row[1] == "Attempt" || row[1] == "Input" || row[1] == "Fault" || row[1] == "Readers":
		case id.MatchString(row[0]):
			out[row[0]] = append(out[row[0]], row)
		case len(row) == 3:
			out[""] = append(out[""], append(row, "holds"))
		}
	}
	return out
}

func threatCells(line string) []string {
	line, ok := strings.CutPrefix(strings.TrimSpace(line), "|")
	if !ok {
		return nil
	}
	row := strings.Split(strings.TrimSuffix(line, "|"), "|")
	for i := range row {
		row[i] = strings.TrimSpace(row[i])
	}
	return row
}

func threatProblems(row []string) []string {
	tests, status := row[len(row)-2], row[len(row)-1]
	named := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(tests, -1)
	state, rest, _ := strings.Cut(status, ": ")
	var out []string
	switch {
	case state == "holds" && rest == "" && len(named) > 0:
	case state == "partly" && rest != "" && len(named) > 0:
	case state == "later" && rest != "" && len(named) == 0:
	default:
		out = append(out, fmt.Sprintf("%d tests for the status %q", len(named), status))
	}
	for _, m := range named {
		if !testExists(m[1]) {
			out = append(out, m[1]+" does not exist")
		}
	}
	return out
}

// testExists finds NAME.txtar, or FILE:TEST.
func testExists(name string) bool {
	root := filepath.Join("..", "..")
	if strings.HasSuffix(name, ".txtar") {
		_, err := os.Stat(filepath.Join(root, "testdata", "scripts", filepath.Base(name)))
		return err == nil && !strings.Contains(name, "/")
	}
	file, test, ok := strings.Cut(name, ":")
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	return ok && err == nil && strings.HasSuffix(file, "_test.go") && strings.Contains(string(text), "\nfunc "+test+"(")
}
