package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/testing/stepevents"
	"github.com/ryeos/rye/internal/touches"
	"github.com/ryeos/rye/threads/message"
)

// stage is a kernel that records what dispatch asks for.
type stage struct {
	mu       sync.Mutex
	log      []string
	running  int
	most     int
	decide   map[string]map[string]any // event + " " + name -> control
	took     map[string]time.Duration
	fails    map[string]error
	answered []Result
	waits    map[string]bool
}

// broker returns what the twin of dispatch reaches: the hooks, and the calls with these names.
func (s *stage) broker(names ...string) broker {
	b := broker{}
	for key, c := range s.decide {
		b[strings.TrimSpace(Dir+"run_hooks "+key)] = []reply{{Data: map[string]any{"control": c}}}
	}
	for _, name := range names {
		r := reply{Data: s.result("id-"+name, name)}
		if err := s.fails[name]; err != nil {
			r = reply{Code: "INTERNAL", Error: err.Error()}
		}
		b[Dir+"dispatch id-"+name] = []reply{r}
	}
	return b
}

func (s *stage) result(id, name string) Result {
	if s.waits[name] {
		return Result{CallID: id, Waits: true}
	}
	return Result{CallID: id, Content: []message.Block{message.TextBlock(name)}}
}

func (s *stage) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *stage) services(t *testing.T) Services {
	out := services(t, nil)
	out.Step = func(_ context.Context, name string, p map[string]any) (Output, error) {
		call, _ := p["context"].(map[string]any)["call"].(map[string]any)
		of, _ := call["name"].(string)
		s.add("%s %v %v", name, p["event"], of)
		return Output{Success: true, Data: map[string]any{"control": s.control(fmt.Sprint(p["event"], " ", of))}}, nil
	}
	out.Call = func(ctx context.Context, c Call) (Result, error) {
		s.mu.Lock()
		s.running++
		s.most = max(s.most, s.running)
		s.mu.Unlock()
		time.Sleep(s.took[c.Name])
		s.mu.Lock()
		s.running--
		s.mu.Unlock()
		s.add("call %s", c.Name)
		return s.result(c.CallID, c.Name), s.fails[c.Name]
	}
	out.Answer = func(_ context.Context, c Call, r Result) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answered = append(s.answered, r)
		return nil
	}
	return out
}

func (s *stage) control(key string) any {
	if c, ok := s.decide[key]; ok {
		return c
	}
	return nil
}

// calls returns calls with names and tiers such as "a:T0". T0 and T1 read the project, others
// declare nothing.
func calls(specs ...string) []any {
	var out []any
	for _, spec := range specs {
		name, tier, _ := strings.Cut(spec, ":")
		c := map[string]any{"call_id": "id-" + name, "name": name, "ref": "tool:t/" + name, "tier": strings.TrimSuffix(tier, "!"), "input": map[string]any{"x": int64(1)}}
		if strings.HasPrefix(tier, "T0") || strings.HasPrefix(tier, "T1") {
			c["touches"] = map[string]any{"read": []any{"."}}
		}
		if strings.HasSuffix(tier, "!") {
			c["problem"] = "$.x is missing"
		}
		out = append(out, c)
	}
	return out
}

func TestGroups(t *testing.T) {
	for _, c := range []struct {
		calls string // what each call reads (r), writes (w) or declares nothing about (-)
		all   bool
		want  string
	}{
		{"ra rb ra", false, "[[0 1 2]]"},
		{"ra wa ra rb", false, "[[0] [1] [2 3]]"},
		{"wa wb", false, "[[0 1]]"},
		{"- -", false, "[[0] [1]]"},
		{"-+ -+ ra -", false, "[[0 1 2] [3]]"},
		{"wa -! wb", false, "[[0 1 2]]"},
		{"wa - wa", true, "[[0 1 2]]"},
		{"", false, "[]"},
	} {
		var list []pendingCall
		for _, f := range strings.Fields(c.calls) {
			list = append(list, pending(f))
		}
		if got := fmt.Sprint(groups(list, c.all)); got != c.want {
			t.Errorf("%s: %s, want %s", c.calls, got, c.want)
		}
	}
}

// pending returns a call such as "ra", which reads a. + runs it with any other, ! has a
// problem.
func pending(spec string) pendingCall {
	out := pendingCall{Together: strings.HasSuffix(spec, "+")}
	if strings.HasSuffix(spec, "!") {
		out.Problem = "$.x is missing"
	}
	paths := []string{strings.TrimRight(spec[1:], "+!")}
	switch spec[0] {
	case 'r':
		out.Touches = &touches.Set{Read: paths}
	case 'w':
		out.Touches = &touches.Set{Write: paths}
	}
	return out
}

// Reads run together, everything else alone and in order; results are in call order.
func TestDispatchOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{took: map[string]time.Duration{"a": 3 * time.Second, "b": time.Second, "c": time.Second, "d": time.Second, "e": 2 * time.Second, "f": time.Second}}
		began := time.Now()
		out, err := dispatch(t.Context(), Input{Services: s.services(t), Params: map[string]any{"calls": calls("a:T0", "b:T1", "c:T2", "d:T2", "e:T0", "f:T0"), "max_parallel": int64(8)}})
		if err != nil {
			t.Fatal(err)
		}
		var ran, order []string
		for _, l := range s.log {
			if name, ok := strings.CutPrefix(l, "call "); ok {
				ran = append(ran, name)
			}
		}
		for _, r := range out.Data["results"].([]any) {
			order = append(order, strings.TrimPrefix(r.(map[string]any)["call_id"].(string), "id-"))
		}
		if got, want := strings.Join(ran, ""), "bacdfe"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
		if got, want := strings.Join(order, ""), "abcdef"; got != want || s.most != 2 || time.Since(began) != 7*time.Second {
			t.Errorf("results %s, %d at once, %s", got, s.most, time.Since(began))
		}
		s = &stage{took: map[string]time.Duration{"a": time.Second, "b": time.Second, "c": time.Second}}
		if _, err = dispatch(t.Context(), Input{Services: s.services(t), Params: map[string]any{"calls": calls("a:T3", "b:T3", "c:T0"), "parallel": true, "max_parallel": int64(2)}}); err != nil || s.most != 2 {
			t.Errorf("%v, %d at once", err, s.most)
		}
	})
}

func TestDispatchHooks(t *testing.T) {
	s := &stage{decide: map[string]map[string]any{
		"before_tool b": {"action": "deny", "feedback": "not on Fridays", "by": "friday"},
		"before_tool c": {"action": "skip", "by": "x"},
		"before_tool d": {"action": "deny", "by": "quiet"},
	}}
	in := Input{Services: s.services(t), Params: map[string]any{"calls": calls("a:T2", "b:T2", "c:T2", "d:T2", "e:T2!")}}
	out, err := dispatch(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	sameAsTwin(t, "dispatch", in, s.broker("a", "b", "c", "d", "e"), out, nil)
	raw, err := json.Marshal(out.Data)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"control":null,"pending":[],"results":[` +
		`{"call_id":"id-a","content":[{"text":"a","type":"text"}],"is_error":false},` +
		`{"call_id":"id-b","content":[{"text":"POLICY_DENIED: not on Fridays","type":"text"}],"denied":true,"is_error":true,"ref":"tool:t/b"},` +
		`{"call_id":"id-c","content":[{"text":"[not run: the hook x left it out]","type":"text"}],"is_error":false,"ref":"tool:t/c","skipped":true},` +
		`{"call_id":"id-d","content":[{"text":"POLICY_DENIED: the hook quiet denied the call","type":"text"}],"denied":true,"is_error":true,"ref":"tool:t/d"},` +
		`{"call_id":"id-e","content":[{"text":"e","type":"text"}],"is_error":false}]}`
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
	// A call that cannot be made has no hooks; a denied one is not started.
	if got, want := strings.Join(s.log, ", "), "run_hooks before_tool a, call a, run_hooks after_tool a, run_hooks before_tool b, run_hooks before_tool c, run_hooks before_tool d, call e"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(s.answered) != 3 || len(out.Events) != 2 {
		t.Errorf("%v, %v", s.answered, out.Events)
	}
	events := shippedEvents(t)
	for _, e := range out.Events {
		if err := events.Check(stepevents.SourceStep, e.Event, e.Data); err != nil {
			t.Error(err)
		}
	}
}

// A decision after a call leaves the later groups out.
func TestDispatchStops(t *testing.T) {
	s := &stage{decide: map[string]map[string]any{"after_tool b": {"action": "suspend", "by": "x"}}}
	in := Input{Services: s.services(t), Params: map[string]any{"calls": calls("a:T2", "b:T2", "c:T2", "d:T0")}}
	out, err := dispatch(t.Context(), in)
	sameAsTwin(t, "dispatch", in, s.broker("a", "b", "c", "d"), out, err)
	if err != nil || decided(out) != "suspend by x" || fmt.Sprint(out.Data["pending"]) != "[id-c id-d]" || slices.Contains(s.log, "call c") {
		t.Errorf("%v, %v, %v", err, out.Data, s.log)
	}
	s = &stage{fails: map[string]error{"a": errors.New("the disk is full")}}
	in = Input{Services: s.services(t), Params: map[string]any{"calls": calls("a:T2", "b:T2")}}
	out, err = dispatch(t.Context(), in)
	if err == nil || slices.Contains(s.log, "call b") {
		t.Errorf("%v, %v", err, s.log)
	}
	sameAsTwin(t, "dispatch", in, s.broker("a", "b"), out, err)
	// A hook sends outputs back, a call waits, a call that a hook left out keeps its position.
	s = &stage{waits: map[string]bool{"d": true}, decide: map[string]map[string]any{
		"directive_return ": {"action": "fail", "by": "x", "message": "no label"}, "before_tool b": {"action": "skip", "by": "y"},
	}}
	list := calls("directive_return:T0", "b:T0", "c:T0!", "d:T0", "e:T2")
	in = Input{Services: s.services(t), Params: map[string]any{"calls": list, "max_parallel": int64(4)}}
	out, err = dispatch(t.Context(), in)
	if err != nil || decided(out) != "suspend by approval" || fmt.Sprint(out.Data["pending"]) != "[id-d id-e]" {
		t.Errorf("%v, %v", err, out.Data)
	}
	sameAsTwin(t, "dispatch", in, s.broker("directive_return", "b", "c", "d", "e"), out, err)
}

// The schema of directive_return refuses missing, unknown and mistyped outputs.
func TestOutputSchema(t *testing.T) {
	raw, err := OutputSchema([]Field{{Name: "label", Required: true}, {Name: "score", Type: "number"}})
	if err != nil {
		t.Fatal(err)
	}
	s, fs := schema.CompileForeign(parse(t, string(raw)))
	if s == nil || len(fs) > 0 {
		t.Fatal(fs)
	}
	for input, n := range map[string]int{`{"label":"bug"}`: 0, `{"label":"bug","score":0.5}`: 0, `{"score":"x"}`: 2, `{"label":"bug","more":1}`: 1, `{}`: 1} {
		if got := s.Validate(parse(t, input)); len(got) != n {
			t.Errorf("%s: %v", input, got)
		}
	}
}
