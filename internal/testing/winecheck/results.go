package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// failure is a test that failed, or a package whose binary did (test is "-").
type failure struct {
	pkg, test, output string
}

type results struct {
	packages, passed, skipped int
	failures                  []failure
	done                      map[string]string // the last action of each package
}

// expect adds a failure for each package that has no result.
func (r *results) expect(packages []string, module string) {
	for _, pkg := range packages {
		pkg = strings.TrimPrefix(pkg, module)
		action := r.done[pkg]
		if action != "pass" && action != "fail" && action != "skip" {
			r.failures = append(r.failures, failure{pkg, "-", "it has no result: it did not end, or was not tested\n"})
		}
	}
}

type event struct {
	Action, Package, ImportPath, Test, Output string
}

// outputs of a test are kept up to this size.
const maxOutput = 8 << 10

type testKey struct{ pkg, test string }

// reader collects the events of go test -json.
type reader struct {
	module string
	output map[testKey]string
	state  map[testKey]string // the last action: run, pass, fail or skip
	done   map[string]string  // the last action of a package
}

func readResults(in io.Reader, module string) (*results, error) {
	r := &reader{
		module: module,
		output: map[testKey]string{},
		state:  map[testKey]string{},
		done:   map[string]string{},
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // what a build prints
		}
		r.add(e)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(r.done) == 0 {
		return nil, fmt.Errorf("no package was tested")
	}
	return r.results(), nil
}

func (r *reader) add(e event) {
	k := testKey{strings.TrimPrefix(e.Package, r.module), e.Test}
	if e.Package == "" { // the output of a build that failed
		k.pkg, _, _ = strings.Cut(strings.TrimPrefix(e.ImportPath, r.module), " ")
	}
	switch e.Action {
	case "output", "build-output":
		if len(r.output[k]) < maxOutput {
			r.output[k] += e.Output
		}
	case "run", "pass", "fail", "skip":
		if e.Test == "" {
			r.done[k.pkg] = e.Action
		} else {
			r.state[k] = e.Action
		}
	}
}

// results keeps the innermost tests only: a parent fails with them. A test that still
// runs when its package ends has failed too: its process ended.
func (r *reader) results() *results {
	out := &results{done: r.done}
	parents := map[testKey]bool{}
	broken := map[string]bool{}
	for k, action := range r.state {
		if bad(action) {
			broken[k.pkg] = true
			for i, c := range k.test {
				if c == '/' {
					parents[testKey{k.pkg, k.test[:i]}] = true
				}
			}
		}
	}
	for k, action := range r.state {
		switch {
		case action == "pass":
			out.passed++
		case action == "skip":
			out.skipped++
		case !parents[k]:
			out.failures = append(out.failures, failure{k.pkg, k.test, r.output[k]})
		}
	}
	for pkg, action := range r.done {
		if action != "skip" { // it has no tests
			out.packages++
		}
		if action == "fail" && !broken[pkg] {
			out.failures = append(out.failures, failure{pkg, "-", r.output[testKey{pkg, ""}]})
		}
	}
	slices.SortFunc(out.failures, func(a, b failure) int {
		return cmp.Or(
			strings.Compare(a.pkg, b.pkg),
			strings.Compare(a.test, b.test),
		)
	})
	return out
}

func bad(action string) bool {
	return action == "fail" || action == "run"
}

// unknown returns the packages with failures that the list does not name.
func unknown(entries []*entry, r *results) (packages []string) {
	for _, f := range r.failures {
		if !slices.ContainsFunc(entries, func(e *entry) bool { return e.covers(f) }) &&
			!slices.Contains(packages, f.pkg) {
			packages = append(packages, f.pkg)
		}
	}
	return packages
}

// judge prints the failures that the list does not name, the entries without a
// failure, and the totals.
func judge(out io.Writer, entries []*entry, r *results) error {
	var unknown, stale, left int
	byOwner := map[string]int{}
	for _, f := range r.failures {
		i := slices.IndexFunc(entries, func(e *entry) bool {
			return e.covers(f)
		})
		if i < 0 {
			unknown++
			fmt.Fprintf(out, "--- not in the list: %s %s\n%s\n", f.pkg, f.test, f.output)
			continue
		}
		entries[i].covered++
		byOwner[entries[i].owner]++
	}
	for _, e := range entries {
		if e.test == "*" {
			left++
			fmt.Fprintf(out, "left out: %s (%s): %s\n", e.pkg, e.owner, e.reason)
		} else if e.covered == 0 && e.mark != "?" {
			stale++
			fmt.Fprintf(out, "--- no longer fails, remove it from the list: %s %s\n", e.pkg, e.test)
		}
	}
	fmt.Fprintf(out, "%d packages: %d tests passed, %d skipped by themselves, %d failures in the list (%d gaps of Wine, %d ours), %d packages left out\n",
		r.packages, r.passed, r.skipped, byOwner["wine"]+byOwner["ours"], byOwner["wine"], byOwner["ours"], left)
	if unknown+stale > 0 {
		return fmt.Errorf("%d failures that the list does not name, %d entries that no longer fail", unknown, stale)
	}
	return nil
}
