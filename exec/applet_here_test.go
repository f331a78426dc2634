package exec

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/testing/testkit"
)

// appletPlan is a plan of an applet, as the plan of a tool on the applet runtime is.
func appletPlan(t *testing.T, here func(context.Context, AppletCall) int, name string) (*Executor, *Plan) {
	t.Helper()
	h := testkit.New(t)
	e := executor(h, func(p *Params) { p.Self, p.Applet = "/opt/rye", here })
	p, err := plan(h, e, direct("config: {command: prog}"), map[string]any{"a": "b"})
	if err != nil {
		t.Fatal(err)
	}
	p.Program, p.Argv, p.Sandbox = "/opt/rye", []string{"rye", "applet", name}, &Confinement{Applet: true}
	return e, p
}

// An applet that only reads runs in this process, with what its own process would get.
func TestAppletHere(t *testing.T) {
	var got AppletCall
	e, p := appletPlan(t, func(_ context.Context, c AppletCall) int {
		got = c
		_, _ = io.WriteString(c.Stdout, `{"success":true,"n":1}`+"\n")
		return 0
	}, "read")
	var seen []string
	p.OnLine = func(_ proc.Stream, line []byte) { seen = append(seen, string(line)) }
	r, err := e.Run(t.Context(), p)
	if err != nil || fmt.Sprint(r.Data["n"]) != "1" || r.Sandbox.Rung != RungApplet {
		t.Fatalf("%v, %+v", err, r)
	}
	if got.Name != "read" || string(got.Stdin) != `{"a":"b"}` || got.Dir != p.Dir || len(got.Env) == 0 || len(seen) != 1 {
		t.Errorf("%+v, %q", got, seen)
	}
}

// Everything else starts a process: applets that write, start programs or ask the network,
// and plans that state something about the process.
func TestAppletElsewhere(t *testing.T) {
	here := func(context.Context, AppletCall) int { return 0 }
	for _, name := range []string{"write", "edit_lines", "grep", "webfetch", "lsp", "telemetry", ""} {
		if e, p := appletPlan(t, here, name); e.appletOf(p) == shellApplet || onlyReads(p, name) {
			t.Errorf("%q runs in this process", name)
		}
	}
	for what, change := range map[string]func(e *Executor, p *Plan){
		"another program":    func(e *Executor, p *Plan) { p.Program = "/bin/rye" },
		"more arguments":     func(e *Executor, p *Plan) { p.Argv = append(p.Argv, "x") },
		"another word":       func(e *Executor, p *Plan) { p.Argv[1] = "serve" },
		"a limit of output":  func(e *Executor, p *Plan) { p.MaxOutput = 10 },
		"no sandbox decided": func(e *Executor, p *Plan) { p.Sandbox = nil },
		"no applets":         func(e *Executor, p *Plan) { e.p.Applet = nil },
	} {
		e, p := appletPlan(t, here, "read")
		if change(e, p); e.appletOf(p) != "" {
			t.Errorf("%s: it runs in this process", what)
		}
	}
	_, p := appletPlan(t, here, "read")
	if !onlyReads(p, "read") {
		t.Fatal("the applet that reads does not run in this process")
	}
	p.Sandbox = &Confinement{}
	if onlyReads(p, "read") {
		t.Error("a program in a sandbox runs in this process")
	}
}

// A file system that does not answer holds neither the call nor its cancellation.
func TestAppletHangs(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	e, p := appletPlan(t, func(context.Context, AppletCall) int { <-hang; return 0 }, "read")
	p.Timeout = 20 * time.Millisecond
	if _, err := e.Run(t.Context(), p); diag.CodeOf(err) != diag.Timeout {
		t.Errorf("%v, want a timeout", err)
	}
	p.Timeout = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := e.Run(ctx, p); diag.CodeOf(err) != diag.Cancelled {
		t.Errorf("%v, want a cancellation", err)
	}
}
