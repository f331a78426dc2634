package tour

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/examples"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/templates"
)

// graph kills a run of a graph in the middle of its second node and resumes it. It is
// skipped where bash is not installed.
func (t *tour) graph(ctx context.Context) error {
	if filepath.Ext(t.tool) != ".sh" || runtime.GOOS == "windows" {
		return nil
	}
	text, err := templates.Files.ReadFile("tour-graph.yaml")
	if err != nil {
		return err
	}
	err = errors.Join(
		t.write(filepath.Join(".ai", "tools", "demo", "publish.yaml"), string(text)),
		t.write(filepath.Join("work", "note"), ""),
	)
	if err != nil {
		return err
	}
	t.say("A graph calls items in an order, without a model. (.ai/tools/demo/publish.yaml)")
	err = errors.Join(
		t.rye(ctx, 0, "It is a tool as well: sign it.", "sign", "tool:demo/publish"),
		t.rye(ctx, 0, "", "graph", "show", "demo/publish"),
	)
	if err != nil {
		return err
	}
	ended, err := t.begin(ctx)
	if err != nil {
		return err
	}
	err = t.rye(ctx, 0, "In another terminal, the process is killed in the middle of the second node.", "threads", "kill", "publish-")
	if err = errors.Join(err, ended()); err != nil {
		return err
	}
	err = t.write(filepath.Join("work", "ready"), "")
	if err != nil {
		return err
	}
	return errors.Join(
		t.rye(ctx, 0, "Resume the run: build is finished and does not run again, slow was in flight and does.", "graph", "resume", "publish-"),
		t.rye(ctx, 0, "Each line of its log has the hash of the line before it, and a signature covers the last one.", "threads", "verify", "publish-"),
	)
}

// examples shows the graphs that the documentation has to copy, and runs the one that
// needs neither git nor a person.
func (t *tour) examples(ctx context.Context) error {
	if filepath.Ext(t.tool) != ".sh" || runtime.GOOS == "windows" {
		return nil
	}
	files, err := fs.Glob(examples.Graphs, "graphs/*")
	if err != nil {
		return err
	}
	t.say("Graphs to copy: a report on a repository, a check of a release, and work on many files.")
	var shown []error
	for _, file := range files {
		text, err := examples.Graphs.ReadFile(file)
		if err != nil {
			return err
		}
		err = t.write(
			filepath.Join(".ai", "tools", "examples", path.Base(file)),
			string(text),
		)
		if err != nil {
			return err
		}
	}
	shown = append(shown, t.rye(ctx, 0, "", "sign", "tool:examples/*"))
	for _, file := range files {
		name, isGraph := strings.CutSuffix(path.Base(file), ".yaml")
		if isGraph && name != "fan_out" { // which is run
			shown = append(shown, t.rye(ctx, 0, "", "graph", "show", "examples/"+name))
		}
	}
	return errors.Join(append(shown, t.rye(ctx, 0, "", "graph", "run", "examples/fan_out", "pattern=work/*", "file=work/inventory.json"))...)
}

// begin starts the run and returns when its second node works. ended waits for the
// process.
func (t *tour) begin(ctx context.Context) (ended func() error, err error) {
	t.out("%s", t.c.UI.Style(cli.Bold, "# Run it. The second node waits for a service that does not answer."))
	t.out("%s\n", t.c.UI.Style(cli.Cyan, "$ rye graph run demo/publish"))
	cmd := exec.CommandContext(ctx, t.c.Self, "graph", "run", "demo/publish")
	cmd.Dir, cmd.Env, cmd.WaitDelay = t.project, t.env(), 5*time.Second
	if err := cmd.Start(); err != nil {
		return nil, diag.New(diag.ExecutionFailed, "running rye graph: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	log := filepath.Join(t.project, "work", "log")
	for {
		select {
		case err := <-done:
			return nil, diag.New(diag.ExecutionFailed, "running rye graph: the run ended before it was killed: %v", err)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		b, err := os.ReadFile(log)
		if err == nil && bytes.Contains(b, []byte("slow\n")) {
			return func() error { <-done; return nil }, nil
		}
	}
}
