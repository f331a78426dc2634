package threads

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// memory is a ledger in memory with the rules of the real one.
type memory struct {
	most, actual, reserved policy.USD
	open                   map[string]policy.USD
	settled                map[string]policy.USD
	peak                   policy.USD // of actual and reserved
	released               []string
	lost                   func(error) // what Keep received
}

func (m *memory) Balance(context.Context) (policy.Balance, error) {
	return policy.Balance{Limit: policy.LimitSpend, Spent: m.actual, Reserved: m.reserved, Max: m.most}, nil
}

func (m *memory) Reserve(_ context.Context, id, _ string, amount policy.USD) error {
	if m.actual+m.reserved+amount > m.most {
		return diag.New(diag.BudgetExceeded, "it does not fit").WithDetail("limit", "spend")
	}
	m.open[id] = amount
	m.reserved += amount
	m.peak = max(m.peak, m.actual+m.reserved)
	return nil
}

func (m *memory) Settle(_ context.Context, id string, actual policy.USD, _ bool) error {
	m.reserved -= m.open[id]
	delete(m.open, id)
	m.settled[id] = actual
	m.actual += actual
	return nil
}

func (m *memory) Recover(ctx context.Context, sent func(string) bool) error {
	for id, amount := range m.open {
		if !sent(id) {
			amount = 0
		}
		_ = m.Settle(ctx, id, amount, true)
	}
	return nil
}

func (m *memory) Keep(_ context.Context, lost func(error)) func() {
	m.lost = lost
	return func() {}
}

func (m *memory) Settled(_ context.Context, id string) (cost policy.USD, assumed, ok bool, err error) {
	cost, ok = m.settled[id]
	return cost, false, ok, nil
}

func (m *memory) Pause(_ context.Context, reason string) error {
	m.released = append(m.released, "suspended: "+reason)
	return nil
}

func (m *memory) Release(_ context.Context, state, _ string) error {
	m.released = append(m.released, state)
	return nil
}

// lab is a thread with a scripted model, scripted tools and a loop of a few steps.
type lab struct {
	t       *testing.T
	p       Params
	ledger  *memory
	mu      sync.Mutex
	answers []message.Response // of the model, in order
	calls   int                // of the model
	seen    []*message.Request
	tools   map[string]func(ctx context.Context, c *ToolCall) (*ToolResult, error)
	ran     []string
	stop    string // the point at which the process "dies"
	events  []string
}

var errDied = errors.New("the process died")

func newLab(t *testing.T) *lab {
	t.Helper()
	key, err := sign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signer := sign.NewFileSigner(key, "key")
	l := &lab{t: t, tools: map[string]func(context.Context, *ToolCall) (*ToolResult, error){}}
	l.ledger = &memory{most: 1_000_000_000, open: map[string]policy.USD{}, settled: map[string]policy.USD{}}
	service := &Service{Provider: item.Ref{Kind: item.Tool, ID: "demo/model"}, Model: "m1", Window: 10000, MaxOutput: 1000,
		WorstCase: func(req *message.Request, _ *Previous) (Estimate, error) {
			return Estimate{Input: 400, Output: req.MaxOutput, Bytes: 1000, Cost: policy.USD((400 + req.MaxOutput) * 1000)}, nil
		},
		Cost: func(_ string, u message.Usage) (policy.USD, bool) { return policy.USD(u.Total() * 1000), false },
	}
	other := *service
	other.Model = "m2"
	l.p = Params{
		Project: t.TempDir(), Signer: signer, Keys: func(sign.Fingerprint) ([]byte, bool) { return signer.Public(), true }, Now: time.Now,
		Directive: Directive{Identity: Identity{Ref: "directive:demo/x"}, Outputs: []item.Input{{Name: "label", Type: "string"}}},
		Held:      policy.Person(), Limits: Limits{Turns: 5, Tokens: 100000, Spend: 1_000_000_000, DurationSeconds: 60},
		Services: []*Service{service, &other},
		Account:  func(context.Context, string, policy.USD) (Ledger, error) { return l.ledger, nil },
		Loop:     l.loop,
		Source: func(event string) string {
			if event == evAdded || event == evError || event == "observation" {
				return "step"
			}
			return "kernel"
		},
		Redact:  func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "sekret", "[redacted:KEY]")) },
		Observe: func(x transcript.Line) { l.mu.Lock(); l.events = append(l.events, x.Event); l.mu.Unlock() },
	}
	l.p.Execute = func(ctx context.Context, th *Thread, node string, s *Service) error {
		_, err := th.Attempt(ctx, node, s, l.model, nil)
		return err
	}
	return l
}

// model is the next answer of the script; one without blocks is a failure.
func (l *lab) model(_ context.Context, req *message.Request, on func(message.Delta)) (*message.Response, error) {
	l.calls++
	l.seen = append(l.seen, req)
	if len(l.answers) == 0 {
		l.t.Error("the model was called too often")
		return nil, &Failure{Message: "no answer"}
	}
	a := l.answers[0]
	l.answers = l.answers[1:]
	if a.Blocks == nil {
		return nil, &Failure{Status: 529, Type: "overloaded_error", Message: "busy"}
	}
	on(message.Delta{Kind: message.DeltaText, Text: a.Text()})
	a.Model = req.Model
	if a.Usage.Total() == 0 {
		a.Usage = message.Usage{Input: 100, Output: 50}
	}
	return &a, nil
}

func (l *lab) tool(ctx context.Context, c *ToolCall) (*ToolResult, error) {
	l.mu.Lock()
	l.ran = append(l.ran, c.Tool.Name)
	l.mu.Unlock()
	return l.tools[c.Tool.Name](ctx, c)
}

func offered(name, schema string) Offered {
	return Offered{ToolDef: message.ToolDef{Name: name, Schema: json.RawMessage(schema)}, Ref: "tool:demo/" + name}
}

// loop is what the graph item does, for tests of the kernel alone.
func (l *lab) loop(ctx context.Context, t *Thread, _ *transcript.Log, _ []transcript.Line) error {
	prompt := &Prompt{Tools: []Offered{
		offered("read", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
		offered(ReturnTool, `{"type":"object","properties":{"label":{"type":"string"}},"required":["label"]}`),
	}}
	prompt.Message.Blocks = []message.Block{message.TextBlock("do it")}
	if err := t.Compose(ctx, prompt); err != nil {
		return err
	}
	for n := 1; ; n++ {
		a, err := t.Model(ctx, string(rune('a'+n)), 0)
		var f *diag.Error
		if errors.As(err, &f) && f.Details["data"] != nil {
			facts, n, _ := t.Failed()
			if facts["status_code"] != int64(529) || n != 1 {
				l.t.Errorf("the failure is %v, attempt %d", facts, n)
			}
			serr := t.Step(ctx, "", Identity{Ref: "tool:classifier"}, []Event{{evError, map[string]any{"id": "overloaded", "category": "overloaded", "cost": "9", "attempt": 7}}})
			if ok, werr := t.Switch(ctx, "overloaded"); !ok || werr != nil || serr != nil {
				return errors.Join(err, serr, werr)
			}
			continue
		}
		if err != nil {
			return err
		}
		for _, id := range a.Calls {
			if l.stop == "before "+id {
				return errDied
			}
			if _, err := t.Call(ctx, "", id, l.tool); err != nil {
				return err
			}
			if l.stop == "after "+id {
				return errDied
			}
		}
		if err := t.Checkpoint(ctx); err != nil {
			return err
		}
		if _, done := t.Returned(); done || len(a.Calls) == 0 {
			return nil
		}
	}
}

func calls(list ...message.Block) message.Response {
	return message.Response{Blocks: list, Stop: message.StopToolCalls}
}

func callBlock(id, name, input string) message.Block {
	return message.Block{Type: message.ToolCall, ID: id, Name: name, Input: json.RawMessage(input)}
}

func (l *lab) reads() {
	l.tools["read"] = func(_ context.Context, c *ToolCall) (*ToolResult, error) {
		if err := c.Start(c.Tool.Ref, c.Tool.Digest, "T0", "run"); err != nil {
			return nil, err
		}
		return &ToolResult{Data: map[string]any{"content": "text sekret"}}, nil
	}
}

const testID = "x-01jd3v8k2m9q4x7c5n0b6t1ras"

func TestThread(t *testing.T) {
	l := newLab(t)
	l.reads()
	l.answers = []message.Response{
		calls(callBlock("c1", "read", `{"n":1}`), callBlock("c2", "read", `{"n":"x"}`), callBlock("c3", "raed", `{}`)),
		calls(callBlock("c4", ReturnTool, `{}`)),
		calls(callBlock("c5", ReturnTool, `{"label":"bug"}`)),
	}
	r, err := Start(t.Context(), testID, l.p)
	if err != nil || r.Status != Completed || r.Outputs["label"] != "bug" {
		t.Fatalf("%+v, %v", r, err)
	}
	if want := []string{"read"}; !slices.Equal(l.ran, want) {
		t.Errorf("tools that ran: %v, want %v", l.ran, want)
	}
	if r.Cost.Turns != 3 || r.Cost.Spend != 450_000 || l.ledger.actual != 450_000 || l.ledger.reserved != 0 {
		t.Errorf("cost %+v, ledger %+v", r.Cost, l.ledger)
	}
	last := l.seen[2].Messages
	text, _ := json.Marshal(last)
	for _, want := range []string{"[redacted:KEY]", "did you mean read?", "n must", "label"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the conversation lacks %q: %s", want, text)
		}
	}
	lines, err := transcript.Read(l.p.Project, testID)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range lines {
		if x.Event != evDelta {
			names = append(names, x.Event)
		}
	}
	want := "thread_started prompt turn_started model_request model_response tool_call tool_result tool_call tool_result tool_call tool_result checkpoint " +
		"turn_started model_request model_response tool_call tool_result checkpoint turn_started model_request model_response tool_call tool_result checkpoint thread_completed checkpoint"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("events\n%s\nwant\n%s", got, want)
	}
	b, _ := os.ReadFile(filepath.Join(l.p.Project, transcript.Dir, testID, transcript.File))
	if strings.Contains(string(b), "sekret") {
		t.Error("the log has the value of a key")
	}
	if rep, err := transcript.Verify(t.Context(), transcript.Params{Project: l.p.Project, ID: testID, Keys: l.p.Keys}); err != nil || rep.Err() != nil {
		t.Error(err, rep.Err())
	}
	if len(l.events) < 20 {
		t.Errorf("observed %v", l.events)
	}
}

func TestDenied(t *testing.T) {
	l := newLab(t)
	l.tools["read"] = func(context.Context, *ToolCall) (*ToolResult, error) {
		return nil, diag.New(diag.PermissionDenied, "no").WithDetail("missing", "rye.execute.tool.demo.read")
	}
	l.answers = []message.Response{calls(callBlock("c1", "read", `{"n":1}`)), calls(callBlock("c2", ReturnTool, `{"label":"x"}`))}
	if r, err := Start(t.Context(), testID, l.p); err != nil || r.Status != Completed {
		t.Fatal(err)
	}
	if !slices.Contains(l.events, evDenied) {
		t.Errorf("events: %v", l.events)
	}
	if b := l.seen[1].Messages[2].Blocks[0]; !b.IsError || !strings.Contains(b.Content[0].Text, "PERMISSION_DENIED") {
		t.Errorf("the model reads %+v", b)
	}
}

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		change func(l *lab)
		code   diag.Code
		limit  string
	}{
		"turns":  {func(l *lab) { l.p.Limits.Turns = 2 }, diag.LimitExceeded, "turns"},
		"tokens": {func(l *lab) { l.p.Limits.Tokens = 1200 }, diag.LimitExceeded, "tokens"},
		"spend":  {func(l *lab) { l.ledger.most = 1_500_000 }, diag.BudgetExceeded, "spend"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.reads()
			c.change(l)
			for n := range 5 {
				a := calls(callBlock("c"+string(rune('0'+n)), "read", `{"n":1}`))
				a.Usage = message.Usage{Input: 400, Output: 300}
				l.answers = append(l.answers, a)
			}
			r, err := Start(t.Context(), testID, l.p)
			e := diag.Typed(err)
			if r == nil || r.Status != Failed || e.Code != c.code || e.Details["limit"] != c.limit {
				t.Fatalf("%+v %v", r, err)
			}
			if l.ledger.peak > l.ledger.most || l.ledger.reserved != 0 || len(l.ledger.released) != 1 {
				t.Errorf("ledger %+v", l.ledger)
			}
			if !slices.Contains(l.events, evLimit) {
				t.Errorf("events: %v", l.events)
			}
		})
	}
}

func TestDuration(t *testing.T) {
	l := newLab(t)
	l.p.Limits.DurationSeconds = 1
	l.tools["read"] = func(ctx context.Context, c *ToolCall) (*ToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	l.answers = []message.Response{calls(callBlock("c1", "read", `{"n":1}`))}
	if r, err := Start(t.Context(), testID, l.p); r == nil || r.Status != Failed || diag.Typed(err).Details["limit"] != "duration_seconds" {
		t.Fatalf("%+v %v", r, err)
	}
}

func TestResume(t *testing.T) {
	for _, stop := range []string{"before c1", "after c1", "before c2", "after c2"} {
		t.Run(stop, func(t *testing.T) {
			l := newLab(t)
			l.reads()
			l.answers = []message.Response{calls(callBlock("c1", "read", `{"n":1}`), callBlock("c2", "read", `{"n":2}`)), calls(callBlock("c3", ReturnTool, `{"label":"x"}`))}
			l.stop = stop
			if r, err := Start(t.Context(), testID, l.p); r == nil || r.Status != Failed || err == nil {
				t.Fatalf("%+v %v", r, err)
			}
			l.stop = ""
			r, err := Resume(t.Context(), testID, l.p, "")
			if err != nil || r.Status != Completed {
				t.Fatalf("%+v %v", r, err)
			}
			if l.calls != 2 || len(l.ran) != 2 {
				t.Errorf("%d calls of the model, tools %v", l.calls, l.ran)
			}
			if r.Cost.Turns != 2 || r.Cost.Spend != l.ledger.actual {
				t.Errorf("cost %+v, ledger %+v", r.Cost, l.ledger)
			}
			if _, err := Resume(t.Context(), testID, l.p, ""); diag.CodeOf(err) != diag.ThreadState {
				t.Errorf("a completed thread was resumed: %v", err)
			}
		})
	}
}

// A call that had started without a result is not made again, and a request without an
// answer is paid in full.
func TestResumeOpen(t *testing.T) {
	l := newLab(t)
	l.tools["read"] = func(_ context.Context, c *ToolCall) (*ToolResult, error) {
		_ = c.Start(c.Tool.Ref, c.Tool.Digest, "T2", "run")
		panic(errDied)
	}
	l.answers = []message.Response{calls(callBlock("c1", "read", `{"n":1}`)), calls(callBlock("c2", ReturnTool, `{"label":"x"}`))}
	died := func(f func()) {
		defer func() { _ = recover() }()
		f()
	}
	died(func() { _, _ = Start(t.Context(), testID, l.p) })
	r, err := Resume(t.Context(), testID, l.p, "")
	if err != nil || r.Status != Completed {
		t.Fatal(err)
	}
	if len(l.ran) != 1 {
		t.Errorf("tools that ran: %v", l.ran)
	}
	if b := l.seen[1].Messages[2].Blocks[0]; !b.IsError || !strings.Contains(b.Content[0].Text, "interrupted; it may have run") {
		t.Errorf("the model reads %+v", b)
	}
}

// The result of an earlier end does not stay for a thread that is resumed: its process can
// be killed after the last line of the log and before the next result.
func TestResumeRemovesResult(t *testing.T) {
	l := newLab(t)
	loop := l.p.Loop
	l.p.Loop = func(_ context.Context, t *Thread, _ *transcript.Log, _ []transcript.Line) error {
		t.Ends(Ending{State: Cancelled})
		return nil
	}
	has := func() bool {
		_, err := transcript.Base(l.p.Project, testID).Stat(ResultFile)
		return err == nil
	}
	if r, _ := Start(t.Context(), testID, l.p); r == nil || r.Status != Cancelled || !has() {
		t.Fatalf("%+v, and a result: %v", r, has())
	}
	l.answers = []message.Response{calls(callBlock("c1", ReturnTool, `{"label":"x"}`))}
	l.p.Loop = func(ctx context.Context, th *Thread, log *transcript.Log, lines []transcript.Line) error {
		if has() {
			t.Error("the result of the earlier end is there while the thread runs")
		}
		return loop(ctx, th, log, lines)
	}
	if r, err := Resume(t.Context(), testID, l.p, ""); err != nil || r.Status != Completed || !has() {
		t.Errorf("%+v %v, and a result: %v", r, err, has())
	}
}

func TestFallback(t *testing.T) {
	l := newLab(t)
	l.answers = []message.Response{{}, calls(callBlock("c1", ReturnTool, `{"label":"x"}`))}
	r, err := Start(t.Context(), testID, l.p)
	if err != nil || r.Model != "m2" || r.Cost.Turns != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	if !slices.Contains(l.events, evError) || !slices.Contains(l.events, evSwitched) {
		t.Errorf("events: %v", l.events)
	}
}

func TestStepEvents(t *testing.T) {
	l := newLab(t)
	l.p.Loop = func(ctx context.Context, t *Thread, _ *transcript.Log, _ []transcript.Line) error {
		return t.Step(ctx, "", Identity{Ref: "tool:bad"}, []Event{{evResponse, map[string]any{}}})
	}
	if _, err := Start(t.Context(), testID, l.p); diag.CodeOf(err) != diag.ValidationFailed || !strings.Contains(err.Error(), "model_response") {
		t.Errorf("a step recorded an answer: %v", err)
	}
}

// A service that numbers its calls from 1 in each answer, or gives two calls one id, has
// all of them made, and each result belongs to its call.
func TestRepeatedCallIDs(t *testing.T) {
	l := newLab(t)
	l.reads()
	l.answers = []message.Response{
		calls(callBlock("c1", "read", `{"n":1}`), callBlock("c1", "read", `{"n":2}`), callBlock("", "read", `{"n":3}`)),
		calls(callBlock("c1", "read", `{"n":4}`)),
		calls(callBlock("c1", ReturnTool, `{"label":"bug"}`)),
	}
	r, err := Start(t.Context(), testID, l.p)
	if err != nil || r.Status != Completed || r.Outputs["label"] != "bug" {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(l.ran) != 4 {
		t.Errorf("tools that ran: %v", l.ran)
	}
	var asked, answered []string
	for _, m := range l.seen[2].Messages {
		for _, b := range m.Blocks {
			switch b.Type {
			case message.ToolCall:
				asked = append(asked, b.ID)
			case message.ToolResult:
				answered = append(answered, b.CallID)
			}
		}
	}
	if want := []string{"c1", "call_1_1", "call_1_2", "call_2_1"}; !slices.Equal(asked, want) || !slices.Equal(answered, want) {
		t.Errorf("calls %v with results of %v, want %v", asked, answered, want)
	}
}
