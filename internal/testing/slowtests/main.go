// Command slowtests reads the output of go test -short -json and ends with status 1 if a
// test takes over a second of processor time, or waits for long, and reasons.txt has no
// reason for it.
//
// Tests of one run disturb each other, so it runs each test that was slow once more, alone,
// and judges that run. It does not judge tests that failed: go test does.
package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

//go:embed reasons.txt
var reasons string

// The most that a test with -short may cost without a reason. The processor time of a test
// hardly depends on other processes of the machine. Its duration does, so that only a wait
// of several seconds is a fault.
const (
	processorLimit = time.Second
	durationLimit  = 3 * time.Second
)

// cost is the cost of a test and of the processes that it started.
type cost struct {
	processor time.Duration
	duration  time.Duration
}

func main() {
	err := run(os.Stdin, os.Stdout, reasons, alone)
	if err != nil {
		fmt.Fprintln(os.Stderr, "slowtests:", err)
		os.Exit(1)
	}
}

// run judges the tests of a run. The function alone returns the cost of a test that runs
// without others.
func run(
	in io.Reader,
	out io.Writer,
	list string,
	alone func(test) (cost, error),
) error {
	permitted, err := parseReasons(list)
	if err != nil {
		return err
	}
	tests, err := readTests(in)
	if err != nil {
		return err
	}
	faults := 0
	for _, t := range slow(tests, permitted) {
		c, err := alone(t)
		if err != nil {
			return fmt.Errorf("running %s of %s alone: %w", t.name, t.pkg, err)
		}
		if c.processor > processorLimit || c.duration > durationLimit {
			faults++
			fmt.Fprintf(
				out,
				"%s %s takes %.1f s of processor time in %.1f s: make it shorter with -short, or add a reason to reasons.txt\n",
				t.pkg,
				t.name,
				c.processor.Seconds(),
				c.duration.Seconds(),
			)
		}
	}
	for _, t := range unknown(tests, permitted) {
		faults++
		fmt.Fprintf(out, "%s %s did not run: remove it from reasons.txt\n", t.pkg, t.name)
	}
	if faults > 0 {
		return fmt.Errorf("%d tests need a change", faults)
	}
	fmt.Fprintf(out, "%d tests, %d of them may take over a second\n", len(tests), len(permitted))
	return nil
}

// alone runs a test without others and returns its cost.
func alone(t test) (cost, error) {
	// A test reads files relative to the directory of its package.
	list := exec.Command("go", "list", "-f", "{{.Dir}}", modulePrefix+t.pkg)
	list.Stderr = os.Stderr
	dir, err := list.Output()
	if err != nil {
		return cost{}, err
	}
	scratch, err := os.MkdirTemp("", "slowtests-")
	if err != nil {
		return cost{}, err
	}
	defer os.RemoveAll(scratch)
	program := filepath.Join(scratch, "test.exe")
	// Built apart from the run: compiling is not the cost of the test.
	build := exec.Command(
		"go",
		"test",
		"-c",
		"-o",
		program,
		modulePrefix+t.pkg,
	)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return cost{}, err
	}
	cmd := exec.Command(
		program,
		"-test.short",
		"-test.v",
		"-test.run",
		pattern(t.name),
	)
	cmd.Dir = strings.TrimSpace(string(dir))
	start := time.Now()
	output, err := cmd.CombinedOutput()
	if err != nil {
		return cost{}, fmt.Errorf("%w: %s", err, output)
	}
	// A pattern that matches nothing ends with status 0, too.
	if !strings.Contains(string(output), "--- PASS: "+t.name) {
		return cost{}, fmt.Errorf("it did not run: %s", output)
	}
	return cost{
		processor: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		duration:  time.Since(start),
	}, nil
}

// pattern returns the pattern of go test -run that matches one test or subtest.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}
