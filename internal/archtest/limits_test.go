package archtest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	limitsFile   = "testdata/limits.txt"
	limitsUpdate = "go generate ./internal/archtest"
)

// measure is one figure of a package that limits.txt records, and its limit.
//
// A recorded value leaves room in both directions, so that small edits do not change
// the file: a value fits if it is at most the recorded one and at most two steps below
// it. A step of 0 compares exactly.
type measure struct {
	name    string
	step    func(value float64) float64
	limit   func(path string) float64 // what the recording never exceeds, unless it does already
	inAll   float64                   // instead of limit: the limit of the sum of all packages, 0 for none
	minimum bool                      // the limit is the lowest value, not the highest
	density bool                      // TestDensity compares it, otherwise TestLimits
	of      func(path string, c *figures) float64
}

func measures() []measure {
	return []measure{
		{name: "methods", step: always(5), limit: most(40), of: func(_ string, c *figures) float64 {
			return float64(highest(c.receivers))
		}},
		{name: "lines", step: linesStep, limit: most(6000), of: func(_ string, c *figures) float64 {
			return float64(c.lines)
		}},
		{name: "imports", step: always(2), limit: importsLimit, of: func(_ string, c *figures) float64 {
			return float64(len(c.imports))
		}},
		{name: "keys", step: always(0), limit: keysLimit, of: func(_ string, c *figures) float64 {
			return float64(len(c.contextKeys))
		}},
		{name: "helper", step: always(0), limit: most(0), of: func(path string, c *figures) float64 {
			if helperInProduct(path, c) {
				return 1
			}
			return 0
		}},
		{name: "reads", step: always(0), limit: most(0), of: func(_ string, c *figures) float64 {
			return float64(c.rawReads)
		}},
		{name: "maps", step: always(5), limit: most(0), inAll: 600, of: func(_ string, c *figures) float64 {
			return float64(c.mapLines)
		}},
		{name: "tokens", step: always(0.1), limit: most(6.6), density: true, of: func(_ string, c *figures) float64 {
			return ratio(c.tokens, c.codeLines)
		}},
		{name: "comments", step: always(0.05), limit: most(0.3), minimum: true, density: true, of: func(_ string, c *figures) float64 {
			if len(c.functions) == 0 {
				return 0.3
			}
			return ratio(c.bodyComments, len(c.functions))
		}},
		{name: "parallel", step: always(0.5), limit: most(0.5), density: true, of: func(_ string, c *figures) float64 {
			return 100 * ratio(c.parallel, c.assignments)
		}},
		{name: "dense", step: always(0.5), limit: most(0.8), density: true, of: func(_ string, c *figures) float64 {
			return 100 * ratio(c.denseLines, c.codeLines)
		}},
	}
}

func always(step float64) func(float64) float64 { return func(float64) float64 { return step } }

func most(limit float64) func(string) float64 { return func(string) float64 { return limit } }

// linesStep grows with the package: an ordinary change of a large package does not
// change its line in the file.
func linesStep(lines float64) float64 {
	switch {
	case lines > 10_000:
		return 500
	case lines > 2_000:
		return 100
	}
	return 50
}

// importsLimit is the highest fan-out. Programs and the package that wires them may import any package.
func importsLimit(path string) float64 {
	if strings.HasPrefix(path, "cmd/") || path == "internal/app" {
		return math.Inf(1)
	}
	return 25
}

// keysLimit permits a context key where a value passes through code that is not of rye.
func keysLimit(path string) float64 {
	switch path {
	case "resolve", "primary/agent", "internal/mcpclient":
		return 1
	}
	return 0
}

// helperInProduct reports whether a package serves tests or measurements and is in a
// directory of the product.
func helperInProduct(path string, c *figures) bool {
	forReaders := strings.HasPrefix(path, "examples/")
	return measuring(path) && !forReaders && !strings.HasPrefix(path, "internal/testing/") && len(c.functions) > 0
}

func highest(counts map[string]int) int {
	n := 0
	for _, count := range counts {
		n = max(n, count)
	}
	return n
}

func ratio(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// fits reports whether a recorded value need not change for a value of today.
func (m measure) fits(path string, recorded, today float64) bool {
	const rounding = 1e-9
	if m.density && !m.worse(recorded, m.limit(path)) {
		return !m.worse(today, m.limit(path))
	}
	if m.minimum {
		recorded = -recorded
		today = -today
	}
	band := 2 * m.step(max(recorded, today))
	return today <= recorded+rounding && today >= recorded-band-rounding
}

// worse reports whether a value is further from the good side than another.
func (m measure) worse(a, b float64) bool {
	if m.minimum {
		return a < b
	}
	return a > b
}

// record returns the figure of limits.txt for a value: at least half a step is left
// before it must change again. A value within the limit does not record one beyond it,
// and how far a density is within its limit is not recorded.
func (m measure) record(path string, today float64) float64 {
	step := m.step(today)
	limit := m.limit(path)
	within := !m.worse(today, limit)
	switch {
	case step == 0:
		return today
	case within && m.density:
		return limit
	case m.minimum:
		return max(0, math.Floor((today-step/2)/step)*step)
	}
	rounded := math.Ceil((today+step/2)/step) * step
	if within && limit > 0 {
		return min(rounded, limit)
	}
	return rounded
}

// unlisted is the recorded value of a package whose line does not have the measure.
func (m measure) unlisted(path string) float64 {
	if m.density {
		return m.limit(path)
	}
	return m.record(path, 0)
}

// next returns the value to record. It is an error to record a worse one beyond the limit.
func (m measure) next(path string, recorded, today, sum float64) (float64, error) {
	if m.fits(path, recorded, today) {
		return recorded, nil
	}
	limit := m.limit(path)
	withinSum := m.inAll > 0 && sum <= m.inAll
	if m.worse(today, recorded) && m.worse(today, limit) && !withinSum {
		return recorded, fmt.Errorf("%s: %s is %s, and %s records %s: the limit is %s, so it does not get worse; "+
			"for a file that moved here, change the line of the package by hand and state it in the commit",
			path, m.name, m.text(today), limitsFile, m.text(recorded), m.limitText(path))
	}
	return m.record(path, today), nil
}

func (m measure) limitText(path string) string {
	if m.inAll > 0 {
		return fmt.Sprintf("%g in all packages", m.inAll)
	}
	return m.text(m.limit(path))
}

func (m measure) text(value float64) string {
	return strconv.FormatFloat(math.Round(value*1000)/1000, 'f', -1, 64)
}

// limits are the recorded values: package, then name of the measure.
type limits map[string]map[string]float64

const limitsHead = `# The figures of each package, recorded by ` + limitsUpdate + `.
# A test fails if one grows or shrinks further than its step. The recording makes a
# value worse only up to its limit: a package that is beyond a limit only improves.
# Divide it, or write simpler code. For files that move into a new package,
# RYE_LIMITS_FROM=internal/project in front of the command accepts the figures of the
# package that they come from.
#
#   methods   of the largest receiver                                      40
#   lines     without tests                                             6,000
#   imports   of other packages of rye without diag and leaves; not cmd/*  25
#   keys      types of context keys: resolve, primary/agent, mcpclient      3 in all
#   helper    1: serves tests only, and is not below internal/testing       0
#   reads     files opened by path, without internal/openat; see readers    0
#   maps      lines with map[string]any                                   600 in all
#   tokens    per line with code                                            6.6
#   comments  inside bodies, per function                                   0.3 at least
#   parallel  a, b = x, y: percent of the assignments                       0.5
#   dense     lines of more than 30 tokens: percent of the lines with code  0.8
#
# rye-run-tool is the number of functions and packages that a run of a locked tool enters,
# at most 950 and 40: RYE_ENTERED=1 go test ./internal/archtest -run TestEntered, in .ci/long.
#
# A figure that a line lacks is the one of an empty package, and from tokens on one within
# its limit. The phrases of words.txt have a list of their own, words-allowed.txt. Empty
# lines keep changes of two neighbours from conflicting in a merge.
`

func parseLimits(text string) (limits, error) {
	out := limits{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if out[fields[0]] != nil || len(fields)%2 == 0 {
			return nil, fmt.Errorf("%s: %q: write each package once, with pairs of name and value", limitsFile, line)
		}
		values := map[string]float64{}
		for i := 1; i < len(fields); i += 2 {
			n, err := strconv.ParseFloat(fields[i+1], 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", limitsFile, line, err)
			}
			values[fields[i]] = n
		}
		out[fields[0]] = values
	}
	return out, nil
}

func (l limits) String() string {
	var b strings.Builder
	b.WriteString(limitsHead)
	for _, path := range slices.Sorted(maps.Keys(l)) {
		fmt.Fprintf(&b, "\n%s", path)
		list := measures()
		if path == runTool {
			list = enteredMeasures()
		}
		for _, m := range list {
			if value := l.at(path, m, ""); value != m.unlisted(path) {
				fmt.Fprintf(&b, "  %s %s", m.name, m.text(value))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// at returns the recorded value of a package, for a new package the one of the package
// from which its files moved.
func (l limits) at(path string, m measure, movedFrom string) float64 {
	values, listed := l[path]
	if !listed {
		values = l[movedFrom]
	}
	if value, ok := values[m.name]; ok {
		return value
	}
	return m.unlisted(path)
}

// limitProblems compares packages with the recorded values, and returns the values to record.
func limitProblems(recorded limits, byPackage map[string]*figures, movedFrom string) (differ, refused []string, next limits) {
	next = limits{}
	for path := range byPackage {
		next[path] = map[string]float64{}
	}
	if values, listed := recorded[runTool]; listed {
		next[runTool] = values
	}
	for _, path := range slices.Sorted(maps.Keys(recorded)) {
		if byPackage[path] == nil && path != runTool {
			differ = append(differ, fmt.Sprintf("%s: the package does not exist", path))
		}
	}
	for _, m := range measures() {
		sum := 0.0
		for path, c := range byPackage {
			sum += m.of(path, c)
		}
		for _, path := range slices.Sorted(maps.Keys(byPackage)) {
			today := m.of(path, byPackage[path])
			old := recorded.at(path, m, movedFrom)
			if len(recorded) == 0 {
				old = m.record(path, today)
			}
			value, err := m.next(path, old, today, sum)
			next[path][m.name] = value
			switch {
			case err != nil:
				refused = append(refused, err.Error())
			case recorded[path] == nil && m.name == "lines":
				differ = append(differ, fmt.Sprintf("%s: a new package", path))
			case value != old:
				differ = append(differ, fmt.Sprintf("%s: %s is %s, recorded is %s", path, m.name, m.text(today), m.text(old)))
			}
		}
	}
	return differ, refused, next
}

// packageFigures measures each package of a checkout, without tests.
func packageFigures(t *testing.T, root string) map[string]*figures {
	t.Helper()
	out := map[string]*figures{}
	for _, name := range goFiles(t, root) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		path := filepath.ToSlash(filepath.Dir(name))
		if out[path] == nil {
			out[path] = newFigures()
		}
		out[path].add(t, name, readFile(t, filepath.Join(root, filepath.FromSlash(name))))
	}
	return out
}

// measured are the figures of this checkout, for both tests.
var measured struct {
	sync.Once
	packages map[string]*figures
}

// TestLimits compares the size of each package with limits.txt. With RYE_UPDATE_GOLDEN it
// records the values of today; RYE_LIMITS_FROM names the package from which the files of
// new packages moved, whose values they may have.
func TestLimits(t *testing.T) { testLimits(t, false) }

// TestDensity does the same for the measures of how dense the code is.
func TestDensity(t *testing.T) { testLimits(t, true) }

func testLimits(t *testing.T, density bool) {
	recorded := readLimits(t)
	measured.Do(func() { measured.packages = packageFigures(t, "../..") })
	if measured.packages == nil {
		t.Fatal("the files could not be measured")
	}
	differ, refused, next := limitProblems(recorded, measured.packages, os.Getenv("RYE_LIMITS_FROM"))
	if os.Getenv("RYE_UPDATE_GOLDEN") == "1" {
		writeLimits(t, next)
		differ = nil
	}
	for _, problem := range slices.Concat(refused, differ) {
		if isDensity(problem) == density {
			t.Error(problem)
		}
	}
	if t.Failed() {
		t.Logf("a value within its limit, in the head of limits.txt, may change: record the values of today with %s", limitsUpdate)
	}
}

func readLimits(t *testing.T) limits {
	t.Helper()
	text, err := os.ReadFile(limitsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	recorded, err := parseLimits(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return recorded
}

func writeLimits(t *testing.T, l limits) {
	t.Helper()
	if err := os.WriteFile(limitsFile, []byte(l.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// isDensity reports whether a problem is one of TestDensity.
func isDensity(problem string) bool {
	return slices.ContainsFunc(measures(), func(m measure) bool {
		return m.density && strings.Contains(problem, ": "+m.name+" is ")
	})
}

// TestLimitFaults checks what the recording accepts, by packages with a number of lines.
func TestLimitFaults(t *testing.T) {
	for _, tc := range []struct {
		name     string
		recorded string
		lines    int
		from     string
		want     string // the line after the recording
		refused  bool
	}{
		{"it fits", "p lines 1000", 960, "", "  lines 1000", false},
		{"an exact value fits", "p lines 1000", 1000, "", "  lines 1000", false},
		{"growth", "p lines 1000", 1001, "", "  lines 1050", false},
		{"little less", "p lines 1000", 900, "", "  lines 1000", false},
		{"less", "p lines 1000", 899, "", "  lines 950", false},
		{"up to the limit", "p lines 1000", 5980, "", "  lines 6000", false},
		{"over the limit", "p lines 1000", 6001, "", "  lines 1000", true},
		{"more over the limit", "p lines 7000", 7001, "", "  lines 7000", true},
		{"less over the limit", "p lines 7000", 6700, "", "  lines 6800", false},
		{"a new package", "q lines 1000", 1000, "", "  lines 1050", false},
		{"a new package over the limit", "q lines 9000", 7000, "", "", true},
		{"a new package with the files of another", "q lines 9000", 8950, "q", "  lines 9000", false},
	} {
		recorded, err := parseLimits(tc.recorded)
		if err != nil {
			t.Fatal(err)
		}
		c := newFigures()
		c.lines = tc.lines
		_, refused, next := limitProblems(recorded, map[string]*figures{"p": c}, tc.from)
		if got := next.String(); !strings.Contains(got+" ", "\np"+tc.want+"\n") || len(refused) > 0 != tc.refused {
			t.Errorf("%s: %s, refused %q", tc.name, strings.TrimPrefix(got, limitsHead), refused)
		}
	}
	kept, err := parseLimits("p lines 1000\nq lines 50 tokens 7.1\n" + runTool + " functions 960")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := kept.String(), limitsHead+"\np  lines 1000\n\nq  tokens 7.1\n\n"+runTool+"  functions 960\n"; got != want {
		t.Errorf("what was read is written as %s", strings.TrimPrefix(got, limitsHead))
	}
	for _, broken := range []string{"p lines", "p lines x", "p\np"} {
		if _, err := parseLimits(broken); err == nil {
			t.Errorf("%q is accepted", broken)
		}
	}
}

// TestDensityFaults measures a file of each fault, and compares rates with their limits.
func TestDensityFaults(t *testing.T) {
	c := newFigures()
	c.add(t, "p/p.go", `package p

import "context"

type key struct{}

func (t *T) f(ctx context.Context) {
	// why
	a, b := 1, map[string]any{} // again
	c, ok := b["x"]
	context.WithValue(context.WithValue(ctx, key{}, 1), key{}, 2)
	os.ReadFile("x")
	g(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
}
`)
	got := map[string]string{}
	for _, m := range measures() {
		got[m.name] = m.text(m.of("p", c))
	}
	for name, value := range map[string]string{"methods": "1", "lines": "14", "imports": "0", "keys": "1", "reads": "1", "maps": "1", "tokens": "10.6", "comments": "2", "parallel": "50", "dense": "10"} {
		if got[name] != value {
			t.Errorf("%s is %s, want %s", name, got[name], value)
		}
	}
	rate := func(name string) measure {
		return measures()[slices.IndexFunc(measures(), func(m measure) bool { return m.name == name })]
	}
	for _, tc := range []struct {
		measure         string
		recorded, today float64
		want            float64
		refused         bool
	}{
		{"tokens", 8, 7.9, 8, false},
		{"tokens", 8, 7.7, 7.8, false},
		{"tokens", 8, 8.01, 8, true},
		{"tokens", 6.6, 3, 6.6, false},
		{"tokens", 6.6, 6.61, 6.6, true},
		{"tokens", 8, 5, 6.6, false},
		{"comments", 0.1, 0.12, 0.1, false},
		{"comments", 0.1, 0.09, 0.1, true},
		{"comments", 0.1, 0.24, 0.2, false},
		{"comments", 0.1, 0.5, 0.3, false},
		{"comments", 0.3, 0.29, 0.3, true},
		{"keys", 0, 1, 0, true},
	} {
		m := rate(tc.measure)
		got, err := m.next("p", tc.recorded, tc.today, 0)
		if math.Abs(got-tc.want) > 1e-9 || (err != nil) != tc.refused {
			t.Errorf("%s %g, today %g: %g, %v", tc.measure, tc.recorded, tc.today, got, err)
		}
	}
	maps := rate("maps")
	if got, err := maps.next("p", 5, 11, 600); got != 15 || err != nil {
		t.Errorf("maps within the sum: %g, %v", got, err)
	}
	if got, err := maps.next("p", 5, 11, 601); got != 5 || err == nil {
		t.Errorf("maps beyond the sum: %g, %v", got, err)
	}
}
