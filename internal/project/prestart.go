package project

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/stack"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/threads/steps"
)

// Prestart has Open start a helper of the sandbox if the arguments of a run look like those
// of a tool that needs one: it is ready when the run is decided. A wrong guess costs
// processor time only, because a helper without a request does nothing. The caller calls
// drop in the end.
func (e *Env) Prestart(args []string) (drop func()) {
	if !looksConfined(args) {
		return func() {}
	}
	e.starting = args
	return e.Warm.Drop
}

// prestart starts the helper of Prestart.
func (p *Project) prestart(ctx context.Context) {
	if args := p.Env.starting; len(args) > 0 && !p.looksUnconfined(args) {
		p.Env.Warm.Ahead(ctx, false)
	}
}

// looksUnconfined reports whether a file of the project with the id of a tool states that
// it runs without a sandbox. The run decides that by the item, which is verified.
func (p *Project) looksUnconfined(args []string) bool {
	word := args[0]
	if word == string(item.Tool) && len(args) > 1 {
		word = args[1]
	}
	ref, err := item.ParseRef(word, item.Tool)
	if err != nil || p.Spaces.ProjectDir == "" {
		return false
	}
	for _, ext := range []string{".sh", ".py", ".yaml", ".js", ".ts"} {
		b, err := p.Spaces.Roots[0].Read("tools/"+ref.ID+ext, resolve.MaxItem)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(b) {
			if value, ok := strings.CutPrefix(strings.TrimLeft(string(line), "# /*"), "risk:"); ok {
				t, err := policy.ParseTier(strings.TrimSpace(value))
				return err == nil && t == policy.T4
			}
		}
		return false
	}
	return false
}

// looksConfined reports whether arguments of run do not name an item of another kind, or
// a standard tool that rye does itself.
func looksConfined(args []string) bool {
	return !slices.ContainsFunc(args[:min(len(args), 2)], func(arg string) bool {
		arg = strings.TrimPrefix(arg, "tool:")
		return arg == "directive" || arg == "knowledge" || strings.HasPrefix(arg, "directive:") || strings.HasPrefix(arg, "knowledge:") ||
			strings.HasPrefix(arg, "rye/") && !strings.HasPrefix(arg, "rye/bash/")
	})
}

// Prefetch reads and verifies what decides about every run while the caller finds the item.
// A run verifies the risk classes again and uses this allowance. An error is not kept: the
// run reads again and reports it.
func (p *Project) Prefetch(ctx context.Context) {
	go func() {
		stack.Reserve()
		if _, err := resolve.Risk(ctx, p.Resolver); err == nil {
			_, _, _ = p.Allowance(ctx)
		}
		if len(p.Env.starting) > 0 {
			p.seen.Preload(p.Spaces.ProjectDir)
		}
	}()
}

// PrefetchRun is Prefetch for a run that is recorded: it reads the runtime key as well. The
// first use of such a key computes a table, which takes longer than reading it.
func (p *Project) PrefetchRun(ctx context.Context) {
	p.Prefetch(ctx)
	go p.prefetchKey()
}

func (p *Project) prefetchKey() {
	if dir := p.Dirs.Keys(); dir != "" {
		if signer, err := sign.OpenFileSigner(filepath.Join(dir, runtimeKeyFile), nil); err == nil {
			_, _ = p.RuntimePublic(sign.FingerprintOf(signer.Public()))
		}
	}
}

// PrefetchThread reads and verifies the settings and the steps of the loop of a thread while
// the caller finds the directive and its model. The thread reads them again: what is kept
// is what follows from the bytes of a file.
func (p *Project) PrefetchThread(ctx context.Context) {
	go func() {
		p.prefetchKey()
		for _, id := range []string{steps.EventsConfig, steps.HooksConfig} {
			_, _ = p.Resolver.Config(ctx, id)
		}
		if loop, err := p.Resolver.Find(ctx, loopRef()); err == nil {
			_, _ = p.loopSteps(ctx, loop)
		}
		// A model is called by a provider, nearly always over HTTP.
		if primitive, err := p.Resolver.Find(ctx, item.Ref{Kind: item.Tool, ID: exec.HTTPClient}); err == nil {
			_, _ = exec.Schema(primitive)
		}
	}()
}

// ahead returns what announces the calls of a graph, whose helpers start before them. The
// caller calls drop in the end.
func (e *Env) ahead(ctx context.Context) (announce func(ref item.Ref, after bool), drop func()) {
	return func(ref item.Ref, after bool) {
		if looksConfined([]string{ref.String()}) {
			e.Warm.Ahead(ctx, after)
		}
	}, e.Warm.Drop
}
