package mvs

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ryeos/rye/lock"
)

// name returns the id of a bundle.
func name(s string) lock.ID { return lock.ID{Kind: lock.HostID, Repo: s} }

// graph is a universe of modules: "A 1" requires "B 2".
type graph struct {
	edges map[Module][]Module
	calls sync.Map
	now   atomic.Int32
	most  atomic.Int32
	block chan struct{}
}

func (g *graph) Max(a, b string) string {
	x, _ := strconv.Atoi(a)
	y, _ := strconv.Atoi(b)
	if x < y {
		return b
	}
	return a
}

func (g *graph) Required(ctx context.Context, id lock.ID, version string) ([]Module, error) {
	if _, twice := g.calls.LoadOrStore(id.String()+" "+version, true); twice {
		return nil, errors.New("asked twice")
	}
	n := g.now.Add(1)
	defer g.now.Add(-1)
	for m := g.most.Load(); n > m && !g.most.CompareAndSwap(m, n); m = g.most.Load() {
	}
	if g.block != nil {
		select {
		case <-g.block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	to, ok := g.edges[Module{ID: id, Version: version}]
	if !ok {
		return nil, errors.New("there is no such version")
	}
	return to, nil
}

// parse reads "A1: B1 C2; B1: C1".
func parse(s string) map[Module][]Module {
	out := map[Module][]Module{}
	for _, line := range strings.Split(s, ";") {
		from, to, _ := strings.Cut(strings.TrimSpace(line), ":")
		out[mod(from)] = mods(to)
	}
	return out
}

func mod(s string) Module { return Module{ID: name(s[:1]), Version: s[1:]} }

func mods(s string) []Module {
	var out []Module
	for _, w := range strings.Fields(s) {
		out = append(out, mod(w))
	}
	return out
}

func show(list []Module) string {
	var out []string
	for _, m := range list {
		out = append(out, m.ID.String()+m.Version)
	}
	return strings.Join(out, " ")
}

func TestBuildList(t *testing.T) {
	for _, tc := range []struct{ name, graph, root, want string }{
		{"nothing", "A1:", "", ""},
		{"chain", "A1: B2; B2: C3; C3:", "A1", "A1 B2 C3"},
		{"diamond", "A1: C1; B1: C2; C1:; C2:", "A1 B1", "A1 B1 C2"},
		{"not the newest", "A1: C1; C1:; C2:; C9:", "A1", "A1 C1"},
		{"cycle", "A1: B1; B1: A1", "A1", "A1 B1"},
		{"cycle that climbs", "A1: B1; B1: A2; A2: B2; B2: A1", "A1", "A2 B2"},
		{"itself", "A1: A1", "A1", "A1"},
		{"numbers, not texts", "A9: ; A10: ; B1: A9; C1: A10", "B1 C1", "A10 B1 C1"},
		{"a version not chosen still counts", "A1: C2; A2: ; B1: A2; C2:", "A1 B1", "A2 B1 C2"},
		{"majors are ids", "A1: C1 D2; C1:; D2:", "A1", "A1 C1 D2"},
		{"twice", "A1: B1 B1; B1:", "A1 A1", "A1 B1"},
	} {
		g, err := BuildList(t.Context(), Root{Requires: mods(tc.root)}, &graph{edges: parse(tc.graph)})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if got := show(g.Selected); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestVia(t *testing.T) {
	g, err := BuildList(t.Context(), Root{Requires: mods("A1 B1")}, &graph{edges: parse("A1: C2 D1; A2: D1; B1: A2; C2: E1; D1:; E1:")})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"C2": "A1", "D1": "", "E1": "", "A2": "", "B1": ""} {
		if got := show(g.Via(mod(id))); got != want {
			t.Errorf("via of %s: %q, want %q", id, got, want)
		}
	}
}

func TestExclude(t *testing.T) {
	root := Root{Requires: mods("A1"), Excluded: func(m Module) bool { return m.ID == name("B") && (m.Version == "1" || m.Version == "2") }}
	reqs := func() *graph { return &graph{edges: parse("A1: B1; B1: C9; B3: C1; C1:; C9:")} }
	if _, err := BuildList(t.Context(), root, reqs()); err == nil || !strings.Contains(err.Error(), "B 1") || !strings.Contains(err.Error(), "excluded") {
		t.Errorf("without a next version: %v", err)
	}
	root.Next = func(_ context.Context, m Module) (string, error) {
		n, _ := strconv.Atoi(m.Version)
		return strconv.Itoa(n + 1), nil
	}
	g, err := BuildList(t.Context(), root, reqs())
	if err != nil || show(g.Selected) != "A1 B3 C1" || show(g.Edges[mod("A1")]) != "B3" {
		t.Errorf("%v %v", g, err)
	}
	root.Next = func(context.Context, Module) (string, error) { return "0", nil }
	if _, err := BuildList(t.Context(), root, reqs()); err == nil || !strings.Contains(err.Error(), "not newer") {
		t.Errorf("an older next version: %v", err)
	}
}

func TestMembers(t *testing.T) {
	root := Root{Requires: mods("A1"), Members: map[lock.ID][]Module{name("M"): mods("B1 N9"), name("N"): mods("M1 C2")}}
	g, err := BuildList(t.Context(), root, &graph{edges: parse("A1: M7 C1; B1: N3; C1:; C2:")})
	if err != nil {
		t.Fatal(err)
	}
	if got := show(g.Selected); got != "A1 B1 C2 M N" {
		t.Errorf("selected %q", got)
	}
	if got := show(g.Edges[mod("A1")]); got != "C1 M" {
		t.Errorf("edges of A1: %q", got)
	}
}

// TestErrors expects every version that failed, sorted.
func TestErrors(t *testing.T) {
	for range 20 {
		_, err := BuildList(t.Context(), Root{Requires: mods("A1 X1 Y1")}, &graph{edges: parse("A1: Z2 B1; B1:")})
		var all Errors
		if !errors.As(err, &all) || len(all) != 3 {
			t.Fatalf("%v", err)
		}
		got := []Module{all[0].Module, all[1].Module, all[2].Module}
		if show(got) != "X1 Y1 Z2" || !strings.Contains(err.Error(), "(and 2 more)") {
			t.Fatalf("%v: %v", got, err)
		}
	}
}

// TestParallel expects exactly as many calls at the same time as allowed.
func TestParallel(t *testing.T) {
	edges, roots := map[Module][]Module{}, []Module{}
	for i := range 50 {
		m := Module{ID: name(fmt.Sprint("M", i)), Version: "1"}
		edges[m] = nil
		roots = append(roots, m)
	}
	g := &graph{edges: edges, block: make(chan struct{})}
	done := make(chan error, 1)
	go func() {
		_, err := BuildList(t.Context(), Root{Requires: roots, parallel: 5}, g)
		done <- err
	}()
	for g.now.Load() < 5 { // ends only when five calls run at one time
		runtime.Gosched()
	}
	for range roots {
		g.block <- struct{}{}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if most := g.most.Load(); most != 5 {
		t.Errorf("%d calls at one time, want 5", most)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	g := &graph{edges: parse("A1: B1; B1:"), block: make(chan struct{})}
	done := make(chan error, 1)
	go func() {
		_, err := BuildList(ctx, Root{Requires: mods("A1 C1 D1"), parallel: 1}, g)
		done <- err
	}()
	cancel(stop)
	if err := <-done; !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

// endless requires a newer version of itself, without end.
type endless struct{ graph }

func (*endless) Required(_ context.Context, id lock.ID, version string) ([]Module, error) {
	n, _ := strconv.Atoi(version)
	return []Module{{ID: id, Version: strconv.Itoa(n + 1)}}, nil
}

func TestEndless(t *testing.T) {
	_, err := BuildList(t.Context(), Root{Requires: mods("A1")}, &endless{})
	if err == nil || !strings.Contains(err.Error(), "more than 10000 versions") {
		t.Errorf("%v", err)
	}
}

// naive is the reference: the closure of the requirements, then the highest version
// of each id.
func naive(edges map[Module][]Module, roots []Module) []Module {
	seen, todo := map[Module]bool{}, slices.Clone(roots)
	for len(todo) > 0 {
		m := todo[0]
		todo = todo[1:]
		if !seen[m] {
			seen[m] = true
			todo = append(todo, edges[m]...)
		}
	}
	high := map[lock.ID]int{}
	for m := range seen {
		v, _ := strconv.Atoi(m.Version)
		high[m.ID] = max(high[m.ID], v)
	}
	var out []Module
	for id, v := range high {
		out = append(out, Module{ID: id, Version: strconv.Itoa(v)})
	}
	slices.SortFunc(out, Compare)
	return out
}

// TestAgainstNaive compares random graphs, cycles among them, with the
// reference, and two walks of one graph with each other.
func TestAgainstNaive(t *testing.T) {
	for seed := range int64(400) {
		r := rand.New(rand.NewSource(seed))
		ids, versions := 1+r.Intn(8), 1+r.Intn(12)
		pick := func() Module {
			return Module{ID: name(string(rune('A' + r.Intn(ids)))), Version: strconv.Itoa(1 + r.Intn(versions))}
		}
		edges := map[Module][]Module{}
		for i := range ids {
			for v := range versions {
				var to []Module
				for range r.Intn(4) {
					to = append(to, pick())
				}
				edges[Module{ID: name(string(rune('A' + i))), Version: strconv.Itoa(v + 1)}] = to
			}
		}
		roots := []Module{pick(), pick()}
		a, err := BuildList(t.Context(), Root{Requires: roots, parallel: 1 + r.Intn(4)}, &graph{edges: edges})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if want := naive(edges, roots); !slices.Equal(a.Selected, want) {
			t.Fatalf("seed %d: %s, want %s", seed, show(a.Selected), show(want))
		}
		b, err := BuildList(t.Context(), Root{Requires: []Module{roots[1], roots[0]}}, &graph{edges: edges})
		if err != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d: another order, another graph: %v", seed, err)
		}
		explained(t, seed, a)
	}
}

// explained expects a reason for every selected version: a root, an edge of a
// selected version, or Via.
func explained(t *testing.T, seed int64, g *Graph) {
	t.Helper()
	for _, m := range g.Selected {
		reason := slices.Contains(g.Roots, m) || len(g.Via(m)) > 0
		for _, from := range g.Selected {
			reason = reason || slices.Contains(g.Edges[from], m)
		}
		if !reason {
			t.Fatalf("seed %d: nothing explains %s", seed, m)
		}
	}
}
