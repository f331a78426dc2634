package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// checkChains verifies the chain of every tool of the system space as a run does,
// and reports the hits of the metadata cache.
func checkChains(ctx context.Context, c *cli.Call) []checkResult {
	fail := func(err error) []checkResult {
		return []checkResult{{"system tools", statusFail, err.Error(), fixOf(err, "install a released rye, or correct RYE_SYSTEM_SPACE")}}
	}
	h, err := env.Of(c).Open(ctx, project.Strict)
	if err != nil {
		return fail(err)
	}
	entries, err := h.Resolver.All(ctx, item.Tool)
	if err != nil {
		return fail(err)
	}
	chains := 0
	for _, e := range entries {
		if e.Shadow || e.Root.Space != space.System {
			continue
		}
		it, err := h.Resolver.Open(ctx, e)
		if err != nil {
			return fail(err)
		}
		if it.Support() || it.Meta.Primitive() || it.Meta.ExecutorID == "" {
			continue
		}
		_, err = h.Executor.Chain(ctx, e.Ref)
		if err != nil {
			return fail(err)
		}
		chains++
	}
	hits, misses := h.Resolver.CacheStats()
	return []checkResult{
		{"system tools", statusOK, fmt.Sprintf("%s from tool to primitive, every element verified", cli.Plural(chains, "chain")), ""},
		{"metadata cache", statusOK, fmt.Sprintf("%d hits, %d misses in this run", hits, misses), ""},
	}
}

// fixOf returns the hint of an error, for one that is not about the check itself.
func fixOf(err error, otherwise string) string {
	e := (*diag.Error)(nil)
	if errors.As(err, &e) {
		return cmp.Or(cli.Hint(e), otherwise)
	}
	return otherwise
}
