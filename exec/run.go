package exec

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/proc"
)

// Usage is the resources that a run used.
type Usage struct {
	CPU    int64 `json:"cpu_ms"`
	MaxRSS int64 `json:"max_rss"` // bytes
}

// Dropped is the number of bytes of each output beyond the kept part.
type Dropped struct {
	Stdout int64 `json:"stdout"`
	Stderr int64 `json:"stderr"`
}

// Any reports whether anything was dropped.
func (d Dropped) Any() bool {
	return d.Stdout+d.Stderr > 0
}

// Result is the outcome of a run.
type Result struct {
	Data       map[string]any
	ReturnCode int
	Signal     string
	Stdout     []byte
	Stderr     []byte
	Dropped    Dropped
	Duration   time.Duration
	Usage      Usage
	Sandbox    *Sandbox    // nil for a call in this process
	Calls      BrokerCalls // of the program through the broker
}

// Run executes a plan. The Result is not nil if the program was started; the
// error states why the work failed.
func (e *Executor) Run(ctx context.Context, p *Plan) (*Result, error) {
	if err := e.approved(ctx, p); err != nil {
		return nil, err
	}
	return e.bodies[p.Chain.Primitive().Ref.ID].run(ctx, p)
}

// resultData parses a tool's stdout: one JSON object as a whole, else its last line
// if that is one, else {stdout}. Of cut output no line is used: the last one is
// missing, and a line in the middle is not the result.
func resultData(stdout []byte, cut bool) map[string]any {
	whole := bytes.TrimSpace(stdout)
	if m, ok := object(whole); ok && !cut {
		return m
	}
	if i := bytes.LastIndexByte(whole, '\n'); i >= 0 && !cut {
		m, ok := object(bytes.TrimSpace(whole[i+1:]))
		if ok {
			return m
		}
	}
	return map[string]any{"stdout": string(bytes.ToValidUTF8(stdout, []byte("\uFFFD")))}
}

// Log returns the end of the lines before the result, if the result is the last of
// several lines.
func (r *Result) Log() string {
	if _, plain := r.Data["stdout"].(string); plain {
		return "" // all of it is the result, or the tool states its stdout itself
	}
	whole := bytes.TrimSpace(r.Stdout)
	if _, one := object(whole); one {
		return ""
	}
	return tail(whole[:bytes.LastIndexByte(whole, '\n')+1], 4096)
}

func object(b []byte) (map[string]any, bool) {
	if len(b) < 2 ||
		b[0] != '{' ||
		b[len(b)-1] != '}' {
		return nil, false
	}
	v, fs := jsonx.ParseMessage(b)
	m, ok := v.(map[string]any)
	return m, ok && !diag.Failed(fs)
}

// failure returns why the run failed, or nil. success: false in a tool's result is
// a failure with any exit status.
func (r *Result) failure(p *Plan, res proc.Result) error {
	ref := p.Chain.Tool().Ref
	found := p.Sandbox.denials(r.Stderr, r.Sandbox)
	if r.Sandbox != nil {
		r.Sandbox.Denied = keysOf(found)
	}
	success, isBool := r.Data["success"].(bool)
	var err *diag.Error
	switch {
	case res.Cancelled:
		err = diag.New(diag.Cancelled, "running %s: cancelled", ref)
	case res.TimedOut:
		err = diag.New(diag.Timeout, "running %s: stopped after its timeout of %s", ref, p.Timeout)
	case r.ReturnCode != 0:
		err = diag.New(diag.ExecutionFailed, "running %s: %s", ref, r.ending(success, isBool))
	case isBool && !success:
		err = diag.New(diag.ExecutionFailed, "running %s: %s", ref, toolMessage(r.Data))
	default:
		return nil
	}
	err.WithDetail("return_code", r.ReturnCode)
	defer func() { nameDenials(err, found) }()
	if tail := tail(r.Stderr, 4096); tail != "" {
		err.WithDetail("stderr", tail)
		nameModule(err, tail, p.Chain.Tool())
	} else if r.Data["error"] == nil {
		err.WithReason("no_stderr")
	}
	reported, ok := r.Data["error"].(map[string]any)
	if ok && isBool {
		// The prefix keeps a tool from choosing a hint that is not for tools.
		if reason, _ := reported["reason"].(string); reason != "" {
			err.WithReason("tool:" + reason)
			details, _ := reported["details"].(map[string]any)
			for _, fact := range []string{"config", "server"} { // named by hints
				if id, _ := details[fact].(string); isID(id) {
					err.WithDetail(fact, id)
				}
			}
		}
		if hint, _ := reported["suggestion"].(string); hint != "" {
			err.WithReason("tool_suggestion").WithDetail("suggestion", hint)
		}
		err.Retryable, _ = reported["retryable"].(bool)
	}
	if r.Data["stdout"] == nil || len(r.Data) > 1 {
		err.WithDetail("data", r.Data)
	} else if out := tail(r.Stdout, 4096); out != "" {
		err.WithDetail("stdout", out)
	}
	return err
}

// isID reports whether a text of a tool may become part of a command in a hint.
func isID(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./", r))
	}) && s[0] != '-'
}

func (r *Result) ending(success, isBool bool) string {
	if isBool && !success {
		return toolMessage(r.Data)
	}
	if r.Signal != "" {
		return "ended by " + r.Signal
	}
	return fmt.Sprintf("exit status %d", r.ReturnCode)
}

// toolMessage returns a tool's own message about its failure: error as a string,
// or error.message.
func toolMessage(data map[string]any) string {
	switch v := data["error"].(type) {
	case string:
		return v
	case map[string]any:
		if s, ok := v["message"].(string); ok {
			return s
		}
	}
	return "the tool reports success: false"
}

func tail(b []byte, n int) string {
	cut := len(b) > n
	if cut {
		b = b[len(b)-n:]
	}
	s := strings.TrimSpace(string(bytes.ToValidUTF8(b, []byte("\uFFFD"))))
	if cut {
		s = "…" + s
	}
	return s
}
