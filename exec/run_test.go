package exec

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/resolve"
)

// EXEC-3 and EXEC-4: the result of an output.
func TestResultData(t *testing.T) {
	for _, c := range []struct{ name, stdout, want string }{
		{"object", `{"a":1}`, `{"a":1}`},
		{"spaces around", " \n{\"a\":1}\n\n", `{"a":1}`},
		{"many lines", "{\n  \"a\": 1\n}\n", `{"a":1}`},
		{"last line", "loading…\n{\"x\":1}\nlog\n{\"a\":1}\n", `{"a":1}`},
		{"last line CRLF", "log\r\n{\"a\":1}\r\n", `{"a":1}`},
		{"not the last", "{\"a\":1}\nbye\n", `{"stdout":"{\"a\":1}\nbye\n"}`},
		{"list", `[1]`, `{"stdout":"[1]"}`},
		{"scalar", `5`, `{"stdout":"5"}`},
		{"duplicate keys", `{"a":1,"a":2}`, `{"stdout":"{\"a\":1,\"a\":2}"}`},
		{"trailing", `{"a":1} {"b":2}`, `{"stdout":"{\"a\":1} {\"b\":2}"}`},
		{"open", `{"a":`, `{"stdout":"{\"a\":"}`},
		{"empty", "", `{"stdout":""}`},
		{"empty object", "{}", `{}`},
		{"invalid UTF-8", "a\xffb", `{"stdout":"a�b"}`},
		{"deep", strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000), ""},
	} {
		got, err := json.Marshal(resultData([]byte(c.stdout), false))
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" {
			if !strings.HasPrefix(string(got), `{"stdout":`) {
				t.Errorf("%s: %.40s", c.name, got)
			}
			continue
		}
		var want, is any
		if json.Unmarshal([]byte(c.want), &want) != nil || json.Unmarshal(got, &is) != nil {
			t.Fatal(c.want)
		}
		if w, _ := json.Marshal(want); string(w) != string(got) {
			t.Errorf("%s: %s, want %s", c.name, got, w)
		}
	}
}

func FuzzResultData(f *testing.F) {
	for _, s := range []string{"", "{}", "x\n{}", "{\"a\":{}}", "\xff", "{\"success\":false}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if data := resultData(b, false); data == nil {
			t.Fatal("nil")
		} else if _, err := json.Marshal(data); err != nil {
			t.Fatalf("%v", err)
		}
	})
}

func TestFailure(t *testing.T) {
	p := &Plan{Chain: &Chain{Elements: []*resolve.Item{{Ref: tool("t")}}}, Timeout: 5 * time.Second}
	for _, c := range []struct {
		name, stdout string
		res          proc.Result
		code         diag.Code
		part         string
	}{
		{"fine", `{"success":true}`, proc.Result{}, "", ""},
		{"no object", "text", proc.Result{}, "", ""},
		{"failure", `{"success":false,"error":"nope"}`, proc.Result{}, diag.ExecutionFailed, "running tool:t: nope"},
		{"failure, typed", `{"success":false,"error":{"message":"deep"}}`, proc.Result{}, diag.ExecutionFailed, "deep"},
		{"failure without reason", `{"success":false}`, proc.Result{}, diag.ExecutionFailed, "success: false"},
		{"success and exit status 3", `{"success":true}`, proc.Result{ExitCode: 3}, diag.ExecutionFailed, "exit status 3"},
		{"success is not a boolean", `{"success":"false"}`, proc.Result{}, "", ""},
		{"killed", "", proc.Result{ExitCode: -1, Signal: "SIGKILL"}, diag.ExecutionFailed, "ended by SIGKILL"},
		{"timeout", `{"success":true}`, proc.Result{TimedOut: true}, diag.Timeout, "5s"},
		{"cancelled", `{"success":true}`, proc.Result{Cancelled: true, TimedOut: true}, diag.Cancelled, "cancelled"},
	} {
		r := &Result{ReturnCode: c.res.ExitCode, Signal: c.res.Signal, Stdout: []byte(c.stdout), Stderr: []byte("why\n"), Data: resultData([]byte(c.stdout), false)}
		err := r.failure(p, c.res)
		if diag.CodeOf(err) != c.code || err != nil && !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, want %s %q", c.name, err, c.code, c.part)
		}
		if e, ok := err.(*diag.Error); ok && (e.Details["stderr"] != "why" || e.Details["return_code"] != c.res.ExitCode) {
			t.Errorf("%s: details %v", c.name, e.Details)
		}
	}
}

// The message of a tool about its own failure is the message of the error.
func TestFailureMessageOfTool(t *testing.T) {
	out := []byte(`{"success":false,"error":{"message":"no key","suggestion":"set KEY","retryable":true}}`)
	r := &Result{ReturnCode: 1, Data: resultData(out, false)}
	err := r.failure(&Plan{Chain: &Chain{Elements: []*resolve.Item{{Ref: tool("t")}}}}, proc.Result{ExitCode: 1})
	if e, ok := err.(*diag.Error); !ok || e.Message != "running tool:t: no key" || e.Reason != "tool_suggestion" || e.Details["suggestion"] != "set KEY" || !e.Retryable {
		t.Errorf("%+v", err)
	}
}

// The reason of a tool selects a hint for tools, and no other hint.
func TestFailureReasonOfTool(t *testing.T) {
	out := []byte(`{"success":false,"error":{"message":"bad","reason":"settings","details":{"config":"web/search","path":"/etc"}}}`)
	r := &Result{ReturnCode: 1, Data: resultData(out, false)}
	err := r.failure(&Plan{Chain: &Chain{Elements: []*resolve.Item{{Ref: tool("t")}}}}, proc.Result{ExitCode: 1})
	var e *diag.Error
	if !errors.As(err, &e) || e.Reason != "tool:settings" || e.Details["config"] != "web/search" || e.Details["path"] != nil {
		t.Errorf("%+v", err)
	}
}

func TestTail(t *testing.T) {
	if got := tail([]byte(strings.Repeat("x", 10)+"end"), 5); got != "…xxend" {
		t.Errorf("%q", got)
	}
	if got := tail([]byte(" a\xff \n"), 10); got != "a�" {
		t.Errorf("%q", got)
	}
}

func TestRun(t *testing.T) {
	h := testkit.New(t)
	sh, err := proc.LookPath("sh", []string{"PATH=/bin:/usr/bin"})
	if err != nil {
		t.Skip(err)
	}
	self, err := os.Executable() // any program with package confine is the helper
	if err != nil {
		t.Fatal(err)
	}
	e := executor(h, func(p *Params) { p.Self = self })
	p, err := plan(h, e, direct(`config: {command: `+sh+`, args: ["-c", "read -r x; echo \"$x\"; echo warn >&2; pwd >&2; echo SECRET=$SECRET >&2"]}`), map[string]any{"a": "b"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Run(t.Context(), p)
	if err != nil || r.Data["a"] != "b" || string(r.Stderr) != "warn\n"+h.Project+"\nSECRET=\n" || r.Sandbox.Layers == nil || len(r.Sandbox.Missing) == 0 {
		t.Errorf("%+v, stderr %q, %v", r.Data, r.Stderr, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Run(ctx, p); diag.CodeOf(err) != diag.Cancelled {
		t.Errorf("cancelled: %v", err)
	}
	p.Program += "-none"
	if r, err := e.Run(t.Context(), p); diag.CodeOf(err) != diag.ExecutionFailed || r != nil {
		t.Errorf("no program: %+v, %v", r, err)
	}
}
