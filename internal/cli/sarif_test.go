package cli

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// everyFinding returns a finding of each code about each sort of path.
func everyFinding() []diag.Finding {
	var out []diag.Finding
	for _, row := range diag.Table() {
		for i, path := range []string{".ai/tools/demo/a b.sh", "rye.lock", "rye.yaml", "/etc/rye/policy.yaml", "HEAD:rye.yaml", ""} {
			f := diag.Errorf(row.Code, i, i, "the item %s is refused", row.Code)
			if i%2 == 1 {
				f = diag.Warnf(row.Code, 0, 0, "the item %s is refused", row.Code)
			}
			f.Path = path
			out = append(out, f)
		}
	}
	return out
}

func locateForTest(path string) (string, bool) {
	if strings.HasPrefix(path, ".ai/") || path == "rye.lock" || path == "rye.yaml" {
		return "a b/" + path, true
	}
	return "a b/rye.yaml", false
}

// Code scanning rejects a whole report for one result without a file and a region, or
// a rule without its descriptions.
func TestEveryResultHasAPlace(t *testing.T) {
	all := everyFinding()
	log := newSARIF(all, locateForTest)
	for i, r := range log.Runs[0].Results {
		if len(r.Locations) != 1 || r.Locations[0].Physical.Artifact.URI == "" || r.Locations[0].Physical.Region.StartLine < 1 {
			t.Errorf("%s about %q: %+v", r.RuleID, all[i].Path, r.Locations)
		}
		if _, inRepo := locateForTest(all[i].Path); !inRepo && !strings.Contains(r.Message.Text, all[i].Path) {
			t.Errorf("%q does not name %q", r.Message.Text, all[i].Path)
		}
	}
	for _, rule := range log.Runs[0].Tool.Driver.Rules {
		for _, text := range []sarifText{rule.ShortDescription, rule.FullDescription, rule.Help} {
			if len(text.Text) < 10 || !strings.HasSuffix(text.Text, ".") {
				t.Errorf("%s: %q", rule.ID, text.Text)
			}
		}
	}
	var out strings.Builder
	stdout := bufio.NewWriter(&out)
	(&UI{Stdout: stdout}).Annotations(all, locateForTest)
	stdout.Flush()
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(line, " file=a b/") || !strings.Contains(line, ",line=") {
			t.Errorf("no place: %s", line)
		}
	}
}

// TestSARIFValidator needs the packages of testdata/npm in the directory RYE_NPM_SARIF;
// .ci/run installs them.
func TestSARIFValidator(t *testing.T) {
	dir := os.Getenv("RYE_NPM_SARIF")
	if dir == "" {
		t.Skip("RYE_NPM_SARIF names no directory with the packages of testdata/npm; .ci/run installs them")
	}
	text, err := json.Marshal(newSARIF(everyFinding(), locateForTest))
	if err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(t.TempDir(), "report.sarif")
	if err := os.WriteFile(report, text, 0o600); err != nil {
		t.Fatal(err)
	}
	schemas, _ := filepath.Glob(filepath.Join(dir, "node_modules", "@microsoft", "sarif-multitool-*", "sarif-2.1.0.json"))
	if len(schemas) != 1 {
		t.Fatalf("the packages have %d schemas", len(schemas))
	}
	for _, rules := range []string{"Sarif", "Ghas"} { // those of the format, and those of GitHub
		out, err := exec.Command(filepath.Join(dir, "node_modules", ".bin", "sarif-multitool"), "validate", report,
			"--rule-kind", rules, "--json-schema", schemas[0]).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Analysis completed successfully") || strings.Contains(string(out), "): ") {
			t.Errorf("%s: %v\n%s", rules, err, out)
		}
	}
}
