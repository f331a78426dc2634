// Package app joins an opened project with the packages that run its tools, models and
// programs. Commands set project.Env.Parts to its Parts.
//
// It has no logic of its own.
package app

import (
	"context"
	"maps"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/surface"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/registry/items"
)

// Parts returns the parts of the program.
func Parts() project.Parts {
	return project.Parts{
		Natives:      natives,
		Provide:      project.Provide,
		Approve:      project.Approve,
		Broker:       surface.OpenBroker,
		Dependencies: project.ToolDependencies,
		Workspace:    surface.Workspace,
	}
}

// natives returns the Go functions that tools of the project may name in
// config.func.
func natives(p *project.Project) map[string]exec.Native {
	out := map[string]exec.Native{}
	maps.Copy(out, agent.Natives(p.Workspace))
	maps.Copy(out, mcpclient.Natives(surface.MCPParams(p)))
	out["graph"] = p.GraphRuntime(project.ThreadDirectives{})
	out["graphs"] = p.GraphsTool
	out["registry"] = func(ctx context.Context, in exec.NativeCall) (map[string]any, error) {
		return items.RegistryTool(ctx, p, in)
	}
	out["bundler"] = func(ctx context.Context, in exec.NativeCall) (map[string]any, error) {
		return items.BundlerTool(ctx, p, in)
	}
	out["thread_directive"] = p.ThreadDirective
	out["orchestrator"] = p.Orchestrate
	out["model_program"] = p.ModelProgram
	maps.Copy(out, p.StepNatives())
	return out
}
