package main

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
)

const events = `# a line of a build
{"Action":"pass","Package":"github.com/ryeos/rye/sign","Test":"TestFast","Elapsed":0.2}
{"Action":"pass","Package":"github.com/ryeos/rye/sign","Test":"TestSlow/part","Elapsed":1.8}
{"Action":"pass","Package":"github.com/ryeos/rye/sign","Test":"TestSlow","Elapsed":2.5}
{"Action":"pass","Package":"github.com/ryeos/rye/sign","Test":"TestParallel","Elapsed":0}
{"Action":"pass","Package":"github.com/ryeos/rye/sign","Test":"TestParallel/part","Elapsed":1.1}
{"Action":"fail","Package":"github.com/ryeos/rye/sign","Test":"TestFailed","Elapsed":9}
{"Action":"pass","Package":"github.com/ryeos/rye/sign","Elapsed":20}
`

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name    string
		list    string
		alone   cost
		err     error
		asked   string // the tests that ran alone
		printed string
		fails   string
	}{
		{name: "without a reason", alone: cost{processor: 2 * time.Second}, asked: "TestParallel/part TestSlow", printed: "sign TestSlow takes 2.0 s of processor time in 0.0 s", fails: "2 tests"},
		{name: "fast alone", alone: cost{processor: time.Second, duration: 3 * time.Second}, asked: "TestParallel/part TestSlow", printed: "5 tests, 0 of them"},
		{name: "waits", alone: cost{duration: 4 * time.Second}, asked: "TestParallel/part TestSlow", printed: "sign TestSlow takes 0.0 s of processor time in 4.0 s", fails: "2 tests"},
		{name: "with a reason", list: "sign TestSlow many keys\nsign TestSlow/part RSA keys\nsign TestParallel/part files\n", printed: "5 tests, 3 of them"},
		{name: "subtest without a reason", list: "# a comment\n\nsign TestSlow many keys", alone: cost{processor: 2 * time.Second}, asked: "TestParallel/part TestSlow/part", printed: "sign TestSlow/part takes", fails: "2 tests"},
		{name: "removed test", list: "sign TestGone a reason\nsign TestSlow many keys\nsign TestSlow/part RSA keys\nsign TestParallel/part files", printed: "sign TestGone did not run", fails: "1 tests"},
		{name: "alone fails", err: errors.New("exit status 1"), asked: "TestParallel/part", fails: "running TestParallel/part of sign alone: exit status 1"},
		{name: "no reason in the line", list: "\nsign TestSlow", fails: "reasons.txt:2: a line is"},
		{name: "no test", list: "sign many keys", fails: "reasons.txt:1: a line is"},
		{name: "two lines", list: "sign TestSlow a\nsign TestSlow b", fails: "reasons.txt:2: sign TestSlow has two lines"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			var asked []string
			err := run(strings.NewReader(events), &out, c.list, func(t test) (cost, error) {
				asked = append(asked, t.name)
				return c.alone, c.err
			})
			if got := strings.Join(asked, " "); got != c.asked {
				t.Errorf("alone ran %q", got)
			}
			if !strings.Contains(out.String(), c.printed) {
				t.Errorf("printed %q", out.String())
			}
			switch {
			case c.fails == "" && err != nil:
				t.Error(err)
			case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)):
				t.Errorf("ends with %v", err)
			}
		})
	}
}

// A run that did not compile has no result, which is a fault and not a fast run.
func TestNoResults(t *testing.T) {
	err := run(strings.NewReader("FAIL\n"), &strings.Builder{}, "", nil)
	if err == nil || !strings.Contains(err.Error(), "no test passed") {
		t.Errorf("ends with %v", err)
	}
}

func TestAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("builds this test again")
	}
	const pkg = "internal/testing/slowtests"
	c, err := alone(test{pkg: pkg, name: "TestRun/waits"})
	if err != nil || c.processor <= 0 || c.duration < c.processor/time.Duration(runtime.NumCPU()) {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := alone(test{pkg: pkg, name: "TestNo(ne"}); err == nil || !strings.Contains(err.Error(), "did not run") {
		t.Errorf("a test that does not exist: %v", err)
	}
}

func TestReasonsFile(t *testing.T) {
	if _, err := parseReasons(reasons); err != nil {
		t.Error(err)
	}
}
