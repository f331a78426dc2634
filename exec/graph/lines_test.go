package graph

import (
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/threads/transcript"
)

// lineKinds has the data of each line that a run of a graph writes. nil are maps.
func lineKinds() map[string]any {
	return map[string]any{
		evStarted: &startedData{}, evNode: &nodeData{}, evItem: &itemData{}, evBranch: &branchData{}, evCommitted: &committedData{},
		evFailed: &failedData{}, evAsk: &askData{}, evAnswer: &answerData{}, evWait: &waitData{}, evWaited: &waitedData{},
		evInjected: &injectedData{}, evHook: nil, evSuspended: &suspendedData{}, evResumed: &resumedData{},
		evCompleted: &endData{}, evError: &endData{}, evCancelled: &endData{},
	}
}

// TestLineKinds checks that lineKinds has every event of a graph and every event that the
// source of this package names, apart from those that a thread writes.
func TestLineKinds(t *testing.T) {
	kinds := lineKinds()
	b, err := fs.ReadFile(stdlib.FS(), ".ai/config/agent/events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	graphs := 0
	for _, m := range regexp.MustCompile(`(?m)^  - id: (\w+)\n(?:    .*\n)*?    source: (\w+)$`).FindAllStringSubmatch(string(b), -1) {
		if m[2] != "graph" {
			continue
		}
		graphs++
		if _, ok := kinds[m[1]]; !ok {
			t.Errorf("no test writes and reads the line %q", m[1])
		}
	}
	if graphs < 14 {
		t.Errorf("config:agent/events has %d events of graphs", graphs)
	}
	named := 0
	for _, name := range must(filepath.Glob("*.go")) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for event := range namedEvents(t, name) {
			named++
			if _, ok := kinds[event]; !ok && !slices.Contains([]string{evThread, evThreadCompleted, evThreadError, evThreadCancelled, evThreadContinued, evKilled}, event) {
				t.Errorf("%s: no test writes and reads the line %q", name, event)
			}
		}
	}
	if named < len(kinds) {
		t.Errorf("the source names %d events", named)
	}
}

// namedEvents returns the values of the constants ev… in a file, and the texts that calls of a log have as the event.
func namedEvents(t *testing.T, name string) map[string]bool {
	t.Helper()
	f, err := goparser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	add := func(x ast.Expr) {
		if lit, ok := x.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			out[must(strconv.Unquote(lit.Value))] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if strings.HasPrefix(id.Name, "ev") && i < len(n.Values) {
					add(n.Values[i])
				}
			}
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"record", "Commit", "Append", "Rest"}, s.Sel.Name) && len(n.Args) > 1 {
				add(n.Args[0])
				add(n.Args[1])
			}
		}
		return true
	})
	return out
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestHostileLines writes each kind of line with hostile values in every field and reads it:
// as the data that were written, also when its reader has read and written them again.
func TestHostileLines(t *testing.T) {
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	for _, event := range slices.Sorted(maps.Keys(lineKinds())) {
		t.Run(event, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, uint64(len(event))))
			l := newLineLab(t)
			for range rounds {
				l.write(event, r, func() string { return testkit.HostileText(r) }, func() any { return testkit.HostileValue(r, 3) })
			}
			large := strings.Repeat("\x00\u202e\xff é", 30_000)
			some := func() string {
				if r.IntN(3) > 0 {
					return "x"
				}
				return large
			}
			if !testing.Short() {
				l.write(event, r, some, func() any { return some() })
			}
			l.write(event, r, func() string { return "x" }, func() any { return testkit.Deep(2000) })
			l.compare()
		})
	}
}

// lineLab writes lines to a log and keeps what was written.
type lineLab struct {
	t       *testing.T
	log     *transcript.Log
	project string
	events  []string
	data    []any
	typed   []any
}

const lineID = "graph-01m8jdpr692e49f0146bea0ed4"

func newLineLab(t *testing.T) *lineLab {
	t.Helper()
	signer := sign.NewFileSigner(must(sign.GenerateKey(nil)), "key")
	l := &lineLab{t: t, project: t.TempDir()}
	log, err := transcript.Create(t.Context(), transcript.Params{Project: l.project, ID: lineID, Signer: signer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	l.log = log
	return l
}

func (l *lineLab) write(event string, r *rand.Rand, text func() string, value func() any) {
	l.t.Helper()
	data := lineKinds()[event]
	if data == nil {
		data = map[string]any{"event": text(), "hook": text(), "ref": text(), "ok": false, "error": text(), "Artifacts": value()}
	} else {
		data = reflect.New(reflect.TypeOf(data).Elem()).Interface()
		testkit.Fill(r, data, map[reflect.Type]func() any{
			reflect.TypeFor[item.Digest]():    func() any { return item.DigestOf([]byte(text())) },
			reflect.TypeFor[policy.USD]():     func() any { return policy.USD(r.Int64N(1e15)) },
			reflect.TypeFor[policy.Profile](): func() any { return policy.Profile{} },
			reflect.TypeFor[diag.Code]():      func() any { return diag.Code(text()) },
		}, text, value)
	}
	want, err := jsonx.Record(must(jsonx.Marshal(data)))
	if err != nil {
		l.t.Fatal(err)
	}
	if err := l.log.Append(event, data); err != nil {
		l.t.Fatalf("%s: %v", event, err)
	}
	l.events, l.data, l.typed = append(l.events, event), append(l.data, want), append(l.typed, data)
}

// compare reads the log as a resumed run and rye graph status do.
func (l *lineLab) compare() {
	t := l.t
	t.Helper()
	lines, err := transcript.Read(l.project, lineID)
	if err != nil || len(lines) != len(l.events) {
		t.Fatalf("%d lines were written, %d are read: %v", len(l.events), len(lines), err)
	}
	for i := range lines {
		raw, err := dataOf(l.project, lineID, &lines[i])
		if err != nil {
			t.Fatalf("%s: %v", lines[i].Event, err)
		}
		got, err := jsonx.Record(raw)
		if err != nil || lines[i].Event != l.events[i] || !reflect.DeepEqual(got, l.data[i]) {
			t.Fatalf("%s (%v) is read as %.400s, want %.400s", l.events[i], err, fmt.Sprint(got), fmt.Sprint(l.data[i]))
		}
		into := reflect.New(reflect.TypeOf(l.typed[i])).Interface()
		if err := jsonx.Decode(raw, into); err != nil {
			t.Fatalf("%s: its reader: %v: %.300s", l.events[i], err, raw)
		}
		if again, err := jsonx.Record(must(jsonx.Marshal(into))); err != nil || !reflect.DeepEqual(again, l.data[i]) {
			t.Fatalf("%s: its reader has %.600s, want %.600s (%v)", l.events[i], fmt.Sprint(again), fmt.Sprint(l.data[i]), err)
		}
		if err := (&Summary{ID: lineID}).add(l.project, &lines[i]); err != nil {
			t.Fatalf("%s: its status: %v", l.events[i], err)
		}
	}
}
