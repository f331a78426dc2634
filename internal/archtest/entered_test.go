package archtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// runTool is the line of limits.txt with the functions and packages of rye that one `rye run tool` enters.
const runTool = "rye-run-tool"

// enteredMeasures are the figures of that line. They depend on the machine, by its sandbox and its
// interpreters, so the steps are large.
func enteredMeasures() []measure {
	return []measure{
		{name: "functions", step: always(20), limit: most(950)},
		{name: "packages", step: always(2), limit: most(40)},
	}
}

// TestEntered counts the functions that a run of a locked tool enters, with a program that is built
// for coverage: that takes minutes, so it needs RYE_ENTERED.
func TestEntered(t *testing.T) {
	if os.Getenv("RYE_ENTERED") == "" {
		t.Skip("it builds the program for coverage; RYE_ENTERED=1 runs it")
	}
	dir := t.TempDir()
	rye := filepath.Join(dir, "rye")
	build := exec.Command("go", "build", "-cover", "-coverpkg=./...", "-o", rye, "./cmd/rye")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	project := filepath.Join(dir, "project")
	unused := filepath.Join(dir, "unused")
	counters := filepath.Join(dir, "counters")
	for _, name := range []string{project, unused, counters} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(coverage string, args ...string) {
		t.Helper()
		cmd := exec.Command(rye, args...)
		cmd.Dir = project
		cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "CI=true", "GOCOVERDIR=" + coverage}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("rye %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	run(unused, "key", "new", "--owner", "ada", "--no-passphrase")
	run(unused, "init")
	run(unused, "new", "tool", "demo/hello")
	run(unused, "sign", "*")
	// The first run remembers facts about the files, the second one is measured.
	run(unused, "run", "tool", "demo/hello")
	run(counters, "run", "tool", "demo/hello")

	list := exec.Command("go", "tool", "covdata", "func", "-i="+counters)
	list.Dir = "../.."
	out, err := list.CombinedOutput()
	if err != nil {
		t.Fatalf("go tool covdata: %v\n%s", err, out)
	}
	functions, packages := entered(string(out))
	fmt.Printf("rye run tool enters %d functions in %d packages\n", functions, packages)
	compareEntered(t, map[string]float64{"functions": float64(functions), "packages": float64(packages)})
}

// entered counts the functions with a share above 0, and their packages.
func entered(list string) (functions, packages int) {
	seen := map[string]bool{}
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		file, _, ok := strings.Cut(line, ".go:")
		if len(fields) != 3 || !ok || fields[2] == "0.0%" {
			continue
		}
		functions++
		seen[filepath.Dir(file)] = true
	}
	return functions, len(seen)
}

func compareEntered(t *testing.T, today map[string]float64) {
	t.Helper()
	recorded := readLimits(t)
	for _, m := range enteredMeasures() {
		old := recorded.at(runTool, m, "")
		value, err := m.next(runTool, old, today[m.name], 0)
		switch {
		case err != nil:
			t.Error(err)
		case value == old:
		case os.Getenv("RYE_UPDATE_GOLDEN") == "1":
			recorded[runTool][m.name] = value
			writeLimits(t, recorded)
		case runtime.GOOS == "linux":
			t.Errorf("%s: %s is %g, recorded is %g: RYE_ENTERED=1 RYE_UPDATE_GOLDEN=1 go test ./internal/archtest -run TestEntered", runTool, m.name, today[m.name], old)
		}
	}
}

func TestEnteredFaults(t *testing.T) {
	functions, packages := entered(`example.com/rye/a/a.go:79:	*T.Lists	0.0%
example.com/rye/a/a.go:82:	T.Mode	100.0%
example.com/rye/a/b.go:9:	f	1.0%
example.com/rye/b/b.go:9:	f	50.0%
total	(statements)	7.7%
`)
	if functions != 3 || packages != 2 {
		t.Errorf("%d functions in %d packages", functions, packages)
	}
}
