// Package settings reads the settings of threads from the config items of a project.
//
// It applies none of them: packages steps and threads do.
package settings

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/threads/steps"
)

// Defaults returns config:agent/agent: the settings that a directive or a graph does not
// state.
func Defaults(ctx context.Context, r *resolve.Resolver) (steps.Defaults, error) {
	return read(ctx, r, steps.AgentConfig, steps.ReadDefaults)
}

// Resilience returns config:agent/resilience.
func Resilience(ctx context.Context, r *resolve.Resolver) (steps.Resilience, error) {
	return read(ctx, r, steps.ResilienceConfig, steps.ReadResilience)
}

// Coordination returns config:agent/coordination.
func Coordination(ctx context.Context, r *resolve.Resolver) (steps.Coordination, error) {
	return read(ctx, r, steps.CoordinationConfig, steps.ReadCoordination)
}

func read[T any](
	ctx context.Context,
	r *resolve.Resolver,
	id string,
	parse func(*tree.Reader) T,
) (T, error) {
	var none T
	s, err := r.Config(ctx, id)
	if err != nil {
		return none, err
	}
	fields := tree.NewReader(&tree.Doc{Root: s.Root}, diag.ConfigError)
	out := parse(fields)
	return out, diag.FromFindings("reading config:"+id, fields.Findings())
}
