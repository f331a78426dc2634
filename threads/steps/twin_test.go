package steps

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/stepsource"
)

// A twin is the source of a step that rye new step writes. For each input of a test it must
// have the output of the step that rye ships.

// broker is what a twin reaches through the library rye: the replies by item, in order.
type broker map[string][]reply

type reply struct {
	Data  any    `json:"data,omitempty"`
	Code  string `json:"code,omitempty"` // of a failed call
	Error string `json:"error,omitempty"`
}

// record returns an executor that keeps the replies of another one for the twin.
func (b broker) record(do func(context.Context, Action) (any, error)) func(context.Context, Action) (any, error) {
	return func(ctx context.Context, a Action) (any, error) {
		data, err := do(ctx, a)
		r := reply{Data: data}
		if err != nil {
			r = reply{Code: string(diag.CodeOf(err)), Error: err.Error()}
		}
		b[a.ID] = append(b[a.ID], r)
		return data, err
	}
}

// prelude runs a source with a fixed clock, fixed random numbers and a library rye that has
// recorded replies. Each line of its input is a step's input with the replies.
const prelude = `
import io, json, random, sys, time, types
random.random = lambda: state["rand"]
time.time = lambda: 1795343400.0
time.sleep = lambda seconds: None
rye = types.ModuleType("rye")
class Error(Exception):
    def __init__(self, code, message, details=None):
        super().__init__(code + ": " + message)
        self.code, self.message, self.details = code, message, details or {}
state = {"replies": {}, "calls": [], "rand": 0.5}
def call(verb, arguments):
    item = arguments["item_id"]
    params = arguments["parameters"] if verb == "execute" else {k: v for k, v in arguments.items() if k not in ("item_id", "item_type")}
    event = params.get("event", "") if item.endswith("/run_hooks") else ""
    name = params["context"].get("call", {}).get("name", "") if event else params.get("call_id", "") if item.endswith("/dispatch") else ""
    key = " ".join(x for x in (item, event, name) if x)
    state["calls"].append(key)
    replies = state["replies"].get(key) or [{"data": {}}]
    r = replies.pop(0) if len(replies) > 1 else replies[0]
    if "error" in r:
        raise Error(r.get("code", ""), r["error"])
    return r.get("data")
def execute(item, /, **parameters):
    return call("execute", {"item_type": "tool", "item_id": item, "parameters": parameters})
rye.Error, rye.call, rye.execute = Error, call, execute
sys.modules["rye"] = rye
def lines(stdin):
    for line in stdin:
        v = json.loads(line)
        state["replies"], state["calls"], state["rand"] = v.pop("_broker") or {}, [], v.pop("_rand")
        yield json.dumps(v) + "\n"
source = compile(sys.argv[1], "source", "exec")
sys.stdin = lines(sys.stdin)
exec(source, {"__name__": "__main__"})
`

// twins are the programs that run, by step and language.
var twins struct {
	mu  sync.Mutex
	all map[string]*running
}

type running struct {
	in  io.WriteCloser
	out *bufio.Reader
	err *bytes.Buffer
}

// start returns the running twin of a step, nil if there is none in the language.
func start(t *testing.T, name, lang string) *running {
	if r := twins.all[name+" "+lang]; r != nil {
		return r
	}
	text, _, missing := stepsource.Read(name, lang)
	if lang == "bash" && (missing != nil || name == "provider_call") { // of provider_call a script has the test
		return nil
	}
	program, err := exec.LookPath(map[string]string{"python": "python3", "bash": "bash"}[lang])
	if err != nil {
		t.Logf("no %s", lang)
		return nil
	}
	if missing != nil {
		t.Fatal(missing)
	}
	args := []string{"-c", text}
	if lang == "python" {
		args = []string{"-c", prelude, text}
	}
	// It answers the vectors of all tests, and ends with its input.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	r := &running{err: &bytes.Buffer{}}
	cmd.Stderr = r.err
	out, err := cmd.StdoutPipe()
	if err == nil {
		r.in, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.out = bufio.NewReaderSize(out, 1<<20)
	if twins.all == nil {
		twins.all = map[string]*running{}
	}
	twins.all[name+" "+lang] = r
	return r
}

// answer asks a twin.
func (r *running) answer(t *testing.T, name string, in Input, b broker) (map[string]any, error) {
	t.Helper()
	in.ConversationFile = filepath.Join(t.TempDir(), "conversation.jsonl")
	var conversation bytes.Buffer
	for i, l := range in.Conversation {
		fmt.Fprintf(&conversation, "{\"seq\":%d,\"event\":%q,\"data\":%s}\n", i+1, l.Event, l.Data)
	}
	if err := os.WriteFile(in.ConversationFile, conversation.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	in.Config = map[string]any{}
	for _, id := range Configs(name) {
		root, err := configOf(t, in.Services, id)
		if err != nil {
			t.Fatal(err)
		}
		in.Config[id] = root
	}
	whole, err := in.Object()
	if err != nil {
		t.Fatal(err)
	}
	whole["_broker"], whole["_rand"] = b, 0.5
	if in.Services.Rand != nil {
		whole["_rand"] = in.Services.Rand()
	}
	line, err := jsonx.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("the twin of %s: %v\n%s", name, err, r.err)
	}
	raw, err := r.out.ReadBytes('\n')
	if err != nil {
		maps.DeleteFunc(twins.all, func(_ string, x *running) bool { return x == r })
		return nil, fmt.Errorf("the twin of %s ended: %w\n%s", name, err, r.err)
	}
	v, fs := jsonx.ParseMessage(bytes.TrimSpace(raw))
	m, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("the twin of %s: %s: %v", name, raw, fs)
	}
	return m, nil
}

func configOf(t *testing.T, s Services, id string) (map[string]any, error) {
	if s.Config == nil {
		s = services(t, nil)
	}
	return s.Config(t.Context(), id)
}

// sameAsTwin compares the output of a step with the output of its twin. A step that failed has
// a twin that fails, too. With -short the twins do not run.
func sameAsTwin(t *testing.T, name string, in Input, b broker, out Output, err error) {
	t.Helper()
	if testing.Short() {
		return
	}
	twins.mu.Lock()
	defer twins.mu.Unlock()
	for _, lang := range []string{"python", "bash"} {
		if r := start(t, name, lang); r != nil {
			r.same(t, name, in, b, out, err)
		}
	}
}

func (r *running) same(t *testing.T, name string, in Input, b broker, out Output, err error) {
	t.Helper()
	got, ended := r.answer(t, name, in, b)
	if ended != nil {
		t.Errorf("%v\ninput %v", ended, in.Params)
		return
	}
	success, _ := got["success"].(bool)
	if err != nil {
		if success {
			t.Errorf("the twin of %s has %v, and the step fails: %v", name, got["data"], err)
		}
		return
	}
	if !success {
		t.Errorf("the twin of %s failed: %v\ninput %v", name, got["error"], in.Params)
		return
	}
	var twin Output
	raw, _ := jsonx.Marshal(got)
	if err := json.Unmarshal(raw, &twin); err != nil {
		t.Fatalf("the twin of %s: %v", name, err)
	}
	twin.Data, _ = got["data"].(map[string]any)
	twin.Events = nil
	list, _ := got["events"].([]any)
	for _, v := range list {
		m, _ := v.(map[string]any)
		data, _ := m["data"].(map[string]any)
		twin.Events = append(twin.Events, Event{fmt.Sprint(m["event"]), data})
	}
	if err := CheckResult(name, twin.Data); err != nil {
		t.Errorf("the twin of %s: %v", name, err)
	}
	if have, want := comparable(t, name, twin), comparable(t, name, out); have != want {
		at := 0
		for at < min(len(have), len(want)) && have[at] == want[at] {
			at++
		}
		from := max(at-200, 0)
		t.Errorf("the twin of %s, from byte %d:\ngot  %.600s\nwant %.600s", name, from, have[from:], want[from:])
	}
}

// comparable returns an output as a text. Fingerprints of the watchdog are any digest, and null is
// the same as an absent member.
func comparable(t *testing.T, name string, out Output) string {
	out.Data, _ = without(out.Data).(map[string]any)
	out.Events = slices.Clone(out.Events)
	for i := range out.Events {
		data, err := object(out.Events[i].Data)
		if err != nil {
			t.Fatal(err)
		}
		out.Events[i].Data, _ = without(data).(map[string]any)
	}
	s := show(t, out, nil)
	if name == "watchdog" {
		s = regexp.MustCompile("sha256:[0-9a-f]{64}").ReplaceAllString(s, "DIGEST")
	}
	return s
}

// without returns a value without members that are null.
func without(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for k, x := range out {
			if out[k] = without(x); x == nil {
				delete(out, k)
			}
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = without(out[i])
		}
		return out
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

// both runs a step and its twin, and returns the output of the step.
func both(t *testing.T, name string, in Input) string {
	t.Helper()
	out, err := All()[name](t.Context(), in)
	if err == nil {
		sameAsTwin(t, name, in, nil, out, nil)
	}
	return show(t, out, err)
}

// The twins of control and emitter are tools: they read one object of parameters.
func TestTwinsOfTools(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil || testing.Short() {
		t.Skip("no python3")
	}
	for _, c := range [][2]string{
		{"control", `{"action":"retry","delay":1.5}`}, {"control", `{"action":"deny","feedback":"no"}`}, {"control", `{"action":"escalate"}`},
		{"control", `{"action":"escalate","to":"parent"}`}, {"control", `{"action":"fail","message":"x","by":"h"}`}, {"control", `{"action":"stop"}`},
		{"control", `{"action":"retry","delay":-1}`}, {"control", `{"action":"retry","delay":86401}`}, {"control", `{"action":"deny","delay":1}`},
		{"control", `{"action":"deny","to":"person"}`}, {"control", `{"action":"skip","more":1}`}, {"control", `{}`},
		{"emitter", `{"name":"seen","data":{"a":[1,"x",null]}}`}, {"emitter", `{"name":"seen"}`}, {"emitter", `{"name":""}`},
		{"emitter", `{"data":1}`}, {"emitter", `{"name":"` + strings.Repeat("é", 51) + `"}`}, {"emitter", `{"name":"a","dat":1}`},
	} {
		name, params := c[0], parse(t, c[1])
		out, err := All()[name](t.Context(), Input{Params: params})
		for _, lang := range []string{"python", "bash"} {
			text, _, missing := stepsource.Read(name, lang)
			if missing != nil {
				continue
			}
			cmd := exec.CommandContext(t.Context(), map[string]string{"python": python, "bash": "bash"}[lang], "-c", text)
			cmd.Stdin = strings.NewReader(c[1])
			raw, failed := cmd.Output()
			if exit := (&exec.ExitError{}); failed != nil && !errors.As(failed, &exit) {
				t.Fatal(failed)
			}
			if (err == nil) != (failed == nil) {
				t.Errorf("%s in %s, %s: %v, and the step: %v", name, lang, c[1], failed, err)
			}
			if err != nil || failed != nil {
				continue
			}
			v, _ := jsonx.ParseMessage(bytes.TrimSpace(raw))
			got, _ := v.(map[string]any)
			twin := Output{Success: true, Data: got}
			if name == "emitter" {
				events, _ := got["events"].([]any)
				e, _ := events[0].(map[string]any)
				data, _ := e["data"].(map[string]any)
				twin = Output{Success: true, Data: got["data"].(map[string]any), Events: []Event{{fmt.Sprint(e["event"]), data}}}
			}
			if have, want := comparable(t, name, twin), comparable(t, name, out); have != want {
				t.Errorf("%s in %s, %s:\ngot  %s\nwant %s", name, lang, c[1], have, want)
			}
		}
	}
}

// Each step has a twin.
func TestTwinsComplete(t *testing.T) {
	if got, want := stepsource.Names("python"), slices.Sorted(maps.Keys(All())); !slices.Equal(got, want) {
		t.Errorf("sources of %v, steps %v", got, want)
	}
}
