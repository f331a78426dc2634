package main

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ryeos/rye/exec/sandbox/confine"
)

// documentation is a package of urfave/cli that the tag urfave_cli_no_docs of a release
// leaves out.
const documentation = "github.com/russross/blackfriday/v2"

// The work before main that every start of rye pays, in milliseconds: of one package
// and of all packages together that are not Go's own. On a machine where Go's own
// packages need more than initOfGo, both grow in proportion.
const (
	initOfPackage = 0.3
	initTotal     = 1.3 // 0.4 of it are the tables of goldmark and x/ansi, of the live view
	initOfGo      = 0.45
)

// TestNoWorkBeforeMain reads the init trace of the executable. The fastest of several
// starts counts for each package: a busy machine makes single packages slower, not all
// starts of one.
func TestNoWorkBeforeMain(t *testing.T) {
	if testing.Short() {
		t.Skip("links rye")
	}
	rye := filepath.Join(t.TempDir(), "rye")
	if runtime.GOOS == "windows" {
		rye += ".exe"
	}
	// With the settings of this test, so that only cmd/rye is compiled for it: other tags or
	// another CGO_ENABLED would compile everything again.
	build := exec.Command("go", "build", "-o", rye, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if runtime.GOOS == "linux" {
		before, _ := initTrace(t, rye, confine.Command)
		delete(before, documentation)
		delete(before, "github.com/charmbracelet/x/ansi/parser") // 0.05 ms; its path is before that of rye
		if before["golang.org/x/net/context"] < 0.01 {
			delete(before, "golang.org/x/net/context") // two error values; go-git imports it
		}
		if len(before) > 0 {
			t.Errorf("packages that are initialised before the helper of the sandbox, for every program that is started: %v", before)
		}
	}
	fastest, ofGo := map[string]float64{}, map[string]float64{}
	var problems []string
	for n := range 120 {
		added, gos := initTrace(t, rye, "version")
		delete(added, documentation)
		keepFastest(fastest, added)
		keepFastest(ofGo, gos)
		if problems = initProblems(fastest, max(1, sum(ofGo)/initOfGo)); n >= 40 && len(problems) == 0 {
			return
		}
	}
	t.Logf("%.3f ms Go's own packages", sum(ofGo))
	names := slices.SortedFunc(maps.Keys(fastest), func(a, b string) int { return int(1e6 * (fastest[b] - fastest[a])) })
	for _, name := range names[:10] {
		t.Logf("%.3f ms %s", fastest[name], name)
	}
	t.Error(strings.Join(problems, "\n"))
}

func keepFastest(fastest, start map[string]float64) {
	for name, ms := range start {
		if old, ok := fastest[name]; !ok || ms < old {
			fastest[name] = ms
		}
	}
}

func sum(of map[string]float64) (total float64) {
	for _, ms := range of {
		total += ms
	}
	return total
}

// initTrace returns the milliseconds that packages worked before main in one start:
// those of others and ours, and those of Go.
func initTrace(t *testing.T, rye, command string) (added, ofGo map[string]float64) {
	t.Helper()
	cmd := exec.Command(rye, command)
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil && command != confine.Command { // the helper has no request
		t.Fatalf("rye %s: %v\n%s", command, err, &trace)
	}
	line := regexp.MustCompile(`^init (\S+) @\S+ ms, (\S+) ms clock`)
	added, ofGo = map[string]float64{}, map[string]float64{}
	for s := bufio.NewScanner(strings.NewReader(trace.String())); s.Scan(); {
		m := line.FindStringSubmatch(s.Text())
		if m == nil {
			continue
		}
		ms, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatalf("init trace: %q: %v", s.Text(), err)
		}
		if first, _, _ := strings.Cut(m[1], "/"); strings.Contains(first, ".") {
			added[m[1]] = ms
		} else {
			ofGo[m[1]] = ms
		}
	}
	if !strings.Contains(trace.String(), "init runtime @") {
		t.Fatalf("there is no init trace:\n%s", &trace)
	}
	return added, ofGo
}

func initProblems(fastest map[string]float64, slower float64) (out []string) {
	for name, ms := range fastest {
		if most := initOfPackage * slower; ms > most {
			out = append(out, fmt.Sprintf("%s works %.2f ms before main, which every start pays; at most %.2f ms", name, ms, most))
		}
	}
	if total, most := sum(fastest), initTotal*slower; total > most {
		out = append(out, fmt.Sprintf("the packages work %.2f ms before main, which every start pays; at most %.2f ms", total, most))
	}
	return out
}
