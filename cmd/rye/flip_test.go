//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/trust"
)

const flipTool = "#!/usr/bin/env bash\n# version: 1.0.0\n# tool_type: script\n# executor_id: rye/core/runtimes/bash_runtime\n# category: demo\n# description: Say which one runs.\necho signed-A\n"

// flipPad makes room, so that A and B have one length and one can be written
// over the other without a moment in which the file is shorter.
const flipPad = "# ........................................................................................................................\n"

// flipper is a project whose only tool somebody changes while it runs: from
// the signed A to an unsigned B and back, by rename and in place, as fast as
// he can. B would say so and leave a mark.
type flipper struct {
	*lab
	file, mark string
	signed     []byte
	stop       atomic.Bool
	done       sync.WaitGroup
	flips      atomic.Int64
}

func newFlipper(t *testing.T) *flipper {
	f := &flipper{lab: newLab(t)}
	f.must("key", "new", "--no-passphrase", "--owner", "ada")
	f.write(".ai/tools/demo/flip.sh", flipTool+strings.Repeat(flipPad, 4))
	f.must("sign", "*")
	f.file = filepath.Join(f.dir, ".ai", "tools", "demo", "flip.sh")
	f.mark = filepath.Join(f.dir, "mark")
	f.signed = f.read(f.file)
	evil := "echo evil-B; touch '" + f.mark + "'\n"
	kept := strings.Replace(string(f.signed), "echo signed-A\n", evil, 1) // under A's signature line
	bare := strings.Replace(flipTool, "echo signed-A\n", evil, 1) + strings.Repeat(flipPad, 8)
	f.done.Go(func() { f.flip([]byte(kept)[:len(f.signed)], []byte(bare)[:len(f.signed)]) })
	t.Cleanup(f.end)
	return f
}

func (f *flipper) end() {
	f.stop.Store(true)
	f.done.Wait()
}

// flip writes until end: mostly over the bytes that are there, sometimes by
// rename or after truncating. A reader may meet a file that is empty, or half
// of one and half of the other.
func (f *flipper) flip(evil ...[]byte) {
	for i := 0; !f.stop.Load(); i++ {
		for _, b := range [][]byte{evil[i%len(evil)], f.signed} {
			switch i % 64 {
			case 0:
				_ = os.WriteFile(f.file, b, 0o644)
			case 1:
				f.replace(b)
			default:
				f.over(b)
			}
			f.flips.Add(1)
		}
	}
}

func (f *flipper) replace(b []byte) {
	next := f.dir + ".next"
	if os.WriteFile(next, b, 0o644) == nil {
		_ = os.Rename(next, f.file)
	}
}

func (f *flipper) over(b []byte) {
	w, err := os.OpenFile(f.file, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	_, _ = w.WriteAt(b, 0)
	_ = w.Close()
}

// unharmed fails if B ever ran.
func (f *flipper) unharmed() {
	f.t.Helper()
	if _, err := os.Lstat(f.mark); !errors.Is(err, fs.ErrNotExist) {
		f.t.Errorf("the mark of the unsigned tool: %v", err)
	}
}

// refusal reports whether err is one of the ways in which bytes that are not
// the signed ones are refused before anything starts.
func refusal(err error) bool {
	switch diag.CodeOf(err) {
	case diag.HashMismatch, diag.Unsigned, diag.SigMalformed, diag.SigInvalid, diag.SigMultiple, diag.NotRegular:
		return true
	}
	return false
}

// verbs are what rye run works with, over the lab's own key.
func (f *flipper) verbs() *primary.Verbs {
	f.t.Helper()
	store, bad := trust.Load(trust.Params{
		UserDir: filepath.Join(f.home, "config", "rye", "trust"), Anchors: project.CompiledAnchors(), Floor: cli.BuildTime(),
	})
	if len(bad) > 0 {
		f.t.Fatal(bad)
	}
	spaces, err := space.Discover(space.Params{Project: f.dir, System: stdlib.FS(), Layer: stdlib.Bundle})
	if err != nil {
		f.t.Fatal(err)
	}
	r := resolve.New(resolve.Params{Spaces: spaces, Trust: store})
	x := exec.New(exec.Params{Resolver: r, Cache: filepath.Join(f.home, "cas"), Project: f.dir, Environ: os.Environ(), Self: f.rye})
	return primary.New(primary.Params{Resolver: r, Executor: x})
}

// tally counts what became of the tries.
type tally struct{ ran, refused int }

func (n tally) check(t *testing.T, flips int64) {
	t.Helper()
	t.Logf("%d tries ran the signed bytes, %d were refused; the file was written %d times", n.ran, n.refused, flips)
	if n.ran == 0 || n.refused == 0 {
		t.Error("only one outcome was met: nothing was tested")
	}
}

// TestV40Plan (V40, T13) makes 10,000 tries through the library up to the file
// that a program would be given, and reads it: always the signed bytes.
func TestV40Plan(t *testing.T) {
	f := newFlipper(t)
	h := f.verbs()
	call := primary.Call{Held: policy.Person(), Ref: item.Ref{Kind: item.Tool, ID: "demo/flip"}, DryRun: true}
	var n tally
	for range rounds(10_000) {
		run, err := h.Tool(t.Context(), call)
		if err != nil {
			if !refusal(err) {
				t.Fatalf("an outcome that is no refusal: %v", err)
			}
			n.refused++
			continue
		}
		path := run.Plan.Argv[len(run.Plan.Argv)-1]
		if !strings.HasPrefix(path, f.home) {
			t.Fatalf("%q would run, which is no file of the cache", path)
		}
		if got := f.read(path); string(got) != string(f.signed) {
			t.Fatalf("the plan's file holds\n%s", got)
		}
		n.ran++
	}
	f.end()
	n.check(t, f.flips.Load())
}

// TestV40Process (V40, T13) starts the tool, through the library and through
// the program: it prints what A prints, or nothing runs.
func TestV40Process(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process in each round")
	}
	f := newFlipper(t)
	h := f.verbs()
	var n tally
	for range rounds(500) {
		run, err := h.Tool(t.Context(), primary.Call{Held: policy.Person(), Ref: item.Ref{Kind: item.Tool, ID: "demo/flip"}})
		switch {
		case err == nil && string(run.Result.Stdout) == "signed-A\n":
			n.ran++
		case err != nil && run.Result == nil && refusal(err):
			n.refused++
		default:
			t.Fatalf("neither A nor a refusal: %v, %+v", err, run.Result)
		}
	}
	for range rounds(200) {
		stdout, all, status := f.run("run", "tool", "demo/flip")
		switch {
		case status == 0 && stdout == "signed-A\n":
			n.ran++
		case (status == 5 || status == 7) && stdout == "":
			n.refused++
		default:
			t.Fatalf("exit status %d, neither A nor a refusal:\n%s", status, all)
		}
	}
	f.end()
	f.unharmed()
	n.check(t, f.flips.Load())
}
