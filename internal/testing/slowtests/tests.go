package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// modulePrefix is left out of the packages in reasons.txt.
const modulePrefix = "github.com/ryeos/rye/"

// test names a test or a subtest of a package, without the prefix of the module.
type test struct {
	pkg  string
	name string
}

// parent returns the test that t is a subtest of, and false if t is not a subtest.
func (t test) parent() (test, bool) {
	at := strings.LastIndex(t.name, "/")
	if at < 0 {
		return test{}, false
	}
	return test{pkg: t.pkg, name: t.name[:at]}, true
}

// event is one line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64
}

// readTests returns the duration of each test that passed.
func readTests(in io.Reader) (map[test]time.Duration, error) {
	const longestLine = 16 << 20
	tests := map[test]time.Duration{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // a build prints text
		}
		if e.Action == "pass" && e.Test != "" {
			pkg := strings.TrimPrefix(e.Package, modulePrefix)
			seconds := e.Elapsed * float64(time.Second)
			tests[test{pkg: pkg, name: e.Test}] = time.Duration(seconds)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the results: %w", err)
	}
	if len(tests) == 0 {
		return nil, fmt.Errorf("reading the results: no test passed")
	}
	return tests, nil
}

// parseReasons reads lines of a package, a test and a reason.
func parseReasons(list string) (map[test]string, error) {
	permitted := map[test]string{}
	for i, line := range strings.Split(list, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		if len(fields) < 3 || !strings.HasPrefix(fields[1], "Test") {
			return nil, fmt.Errorf("reasons.txt:%d: a line is PACKAGE TEST REASON", i+1)
		}
		t := test{pkg: fields[0], name: fields[1]}
		if permitted[t] != "" {
			return nil, fmt.Errorf("reasons.txt:%d: %s %s has two lines", i+1, t.pkg, t.name)
		}
		permitted[t] = fields[2]
	}
	return permitted, nil
}

// slow returns the tests without a reason that took longer than the processor time that a test
// may cost, in order of their names. If a test and its subtest are slow, only the test is
// returned. A test whose subtests are parallel has a duration of 0.
func slow(tests map[test]time.Duration, permitted map[test]string) (out []test) {
	for t, duration := range tests {
		if duration <= processorLimit || permitted[t] != "" {
			continue
		}
		// The duration of a test includes its subtests, unless they are parallel.
		parent, isSubtest := t.parent()
		if isSubtest && tests[parent] > processorLimit && permitted[parent] == "" {
			continue
		}
		out = append(out, t)
	}
	return sorted(out)
}

// unknown returns the tests with a reason that did not run.
func unknown(tests map[test]time.Duration, permitted map[test]string) (out []test) {
	for t := range permitted {
		if _, ok := tests[t]; !ok {
			out = append(out, t)
		}
	}
	return sorted(out)
}

func sorted(tests []test) []test {
	slices.SortFunc(tests, func(a, b test) int {
		byPackage := strings.Compare(a.pkg, b.pkg)
		return cmp.Or(byPackage, strings.Compare(a.name, b.name))
	})
	return tests
}
