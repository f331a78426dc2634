package archtest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestThreadFaults: each fault on the page about the threads of the original names a test
// or a script, and each of them exists.
func TestThreadFaults(t *testing.T) {
	page, err := os.ReadFile("../../docs/dev/design/thread-faults.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, faults := testNames(t), 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 3 || strings.Contains(line, "| Shown by |") {
			continue
		}
		faults++
		shown := regexp.MustCompile("`([A-Za-z0-9_]+)`").FindAllStringSubmatch(cells[2], -1)
		if len(shown) == 0 {
			t.Errorf("no test shows the outcome of %q", cells[0])
		}
		for _, m := range shown {
			if _, err := os.Stat("../../testdata/scripts/" + m[1] + ".txtar"); err != nil && !tests[m[1]] {
				t.Errorf("%q names %s, which does not exist", cells[0], m[1])
			}
		}
	}
	if faults < 25 {
		t.Errorf("the page has %d faults", faults)
	}
}
