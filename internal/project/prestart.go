package project

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/item"
)

// Prestart starts a helper of the sandbox if the arguments of a run look like those of a
// tool that needs one: it is ready when the run is decided. A wrong guess costs processor
// time only, because a helper without a request does nothing. The caller calls drop in
// the end.
func (e *Env) Prestart(ctx context.Context, args []string) (drop func()) {
	if !looksConfined(args) {
		return func() {}
	}
	e.Warm.Ahead(ctx, false)
	return e.Warm.Drop
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

// ahead returns what announces the calls of a graph, whose helpers start before them. The
// caller calls drop in the end.
func (e *Env) ahead(ctx context.Context) (announce func(ref item.Ref, after bool), drop func()) {
	return func(ref item.Ref, after bool) {
		if looksConfined([]string{ref.String()}) {
			e.Warm.Ahead(ctx, after)
		}
	}, e.Warm.Drop
}
