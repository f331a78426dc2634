package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// archivedList names the linked modules whose repository its owner archived, one a line:
// the module, the day of the archive, and the one package that may import it. The module
// proxy does not state that a repository is archived, so people keep the list.
const archivedList = "testdata/archived.txt"

// moduleState is what go list states of a module.
type moduleState struct {
	Path, Version string
	Indirect      bool
	Deprecated    string
	Retracted     []string
	Update        *struct{ Version string }
}

// TestModuleReleases lists the linked modules that have a newer release, and fails for those
// that are retracted or deprecated without being archived on purpose. It needs the module
// proxy: .ci/run sets RYE_MODULE_RELEASES.
func TestModuleReleases(t *testing.T) {
	if os.Getenv("RYE_MODULE_RELEASES") == "" {
		t.Skip("RYE_MODULE_RELEASES is not set: the test asks the module proxy")
	}
	linked := linkedModules(t)
	archived := archivedModules(t)
	cmd := exec.Command("go", append([]string{"list", "-m", "-u", "-retracted", "-json"}, linked...)...)
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	states, err := readStates(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if len(states) != len(linked) {
		t.Errorf("go list names %d of %d modules", len(states), len(linked))
	}
	report, faults := judge(states, archived)
	t.Logf("%d modules are linked\n%s", len(states), report)
	for _, f := range faults {
		t.Error(f)
	}
}

// TestModuleJudgement checks the rules of TestModuleReleases without the proxy.
func TestModuleJudgement(t *testing.T) {
	states, err := readStates(strings.NewReader(`{"Path":"a.test/new","Version":"v1.0.0","Update":{"Version":"v1.1.0"}}
{"Path":"a.test/gone","Version":"v1.0.0","Retracted":["it loses data"]}
{"Path":"a.test/old","Version":"v1.0.0","Deprecated":"use b.test/new"}
{"Path":"a.test/shelf","Version":"v1.0.0","Deprecated":"archived"}
{"Path":"a.test/fine","Version":"v1.0.0"}`))
	if err != nil {
		t.Fatal(err)
	}
	report, faults := judge(states, map[string]archivedModule{"a.test/shelf": {day: "2025-04-01", wrapper: "internal/yamlx"}})
	wantReport := "a.test/new v1.0.0: v1.1.0 is newer\na.test/shelf v1.0.0: archived on 2025-04-01, only internal/yamlx imports it\n"
	wantFaults := []string{"a.test/gone v1.0.0 is retracted: it loses data", "a.test/old v1.0.0 is deprecated: use b.test/new"}
	if report != wantReport || !slices.Equal(faults, wantFaults) {
		t.Errorf("report %q, faults %q", report, faults)
	}
}

// TestArchivedModules checks that each archived module is linked and that the table of
// imports permits it to the one package that the list names.
func TestArchivedModules(t *testing.T) {
	linked := linkedModules(t)
	archived := archivedModules(t)
	if len(archived) == 0 {
		t.Fatalf("%s names no module", archivedList)
	}
	for path, a := range archived {
		if !slices.Contains(linked, path) {
			t.Errorf("%s: %s is not linked", archivedList, path)
		}
		may := thirdParty()[path]
		if len(may) != 1 || !may[a.wrapper] {
			t.Errorf("%s: %s may be imported by %v, not by %s alone", archivedList, path, may, a.wrapper)
		}
	}
}

type archivedModule struct{ day, wrapper string }

func archivedModules(t *testing.T) map[string]archivedModule {
	t.Helper()
	out := map[string]archivedModule{}
	for _, line := range readLines(t, archivedList) {
		words := strings.Fields(line)
		if len(words) != 3 {
			t.Fatalf("%s: %q is not MODULE DAY PACKAGE", archivedList, line)
		}
		out[words[0]] = archivedModule{day: words[1], wrapper: words[2]}
	}
	return out
}

func readLines(t *testing.T, name string) []string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

func readStates(r io.Reader) ([]moduleState, error) {
	var out []moduleState
	d := json.NewDecoder(r)
	for {
		var m moduleState
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading what go list printed: %w", err)
		}
		out = append(out, m)
	}
}

// judge returns a report for people and the faults.
func judge(states []moduleState, archived map[string]archivedModule) (report string, faults []string) {
	var b strings.Builder
	for _, m := range states {
		a, isArchived := archived[m.Path]
		name := m.Path + " " + m.Version
		if m.Update != nil {
			fmt.Fprintf(&b, "%s: %s is newer\n", name, m.Update.Version)
		}
		if isArchived {
			fmt.Fprintf(&b, "%s: archived on %s, only %s imports it\n", name, a.day, a.wrapper)
		}
		if len(m.Retracted) > 0 {
			faults = append(faults, fmt.Sprintf("%s is retracted: %s", name, strings.Join(m.Retracted, "; ")))
		}
		if m.Deprecated != "" && !isArchived {
			faults = append(faults, fmt.Sprintf("%s is deprecated: %s", name, m.Deprecated))
		}
	}
	return b.String(), faults
}
