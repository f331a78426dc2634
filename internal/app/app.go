// Package app joins an opened project with the packages that run its tools, models and
// programs. Commands set project.Env.Parts to its Parts.
//
// It has no logic of its own.
package app

import (
	"context"
	"maps"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/surface"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/registry/items"
	"github.com/ryeos/rye/threads/programs"
	"github.com/ryeos/rye/threads/threadhost"
	"github.com/ryeos/rye/threads/tree"
)

// Parts returns the parts of the program.
func Parts() project.Parts {
	return project.Parts{
		Natives:      natives,
		Provide:      threadhost.Provide,
		Approve:      threadhost.Approve,
		Broker:       surface.OpenBroker,
		Dependencies: deps.OfTool,
		Workspace:    surface.Workspace,
	}
}

// natives returns the Go functions that tools of the project may name in
// config.func.
func natives(p *project.Project) map[string]exec.Native {
	out := map[string]exec.Native{}
	maps.Copy(out, agent.Natives(p.Workspace))
	maps.Copy(out, mcpclient.Natives(surface.MCPParams(p)))
	out["graph"] = graphhost.Runtime(p, threadhost.Directives{})
	out["graphs"] = on(p, graphhost.Tool)
	out["registry"] = on(p, items.RegistryTool)
	out["bundler"] = on(p, items.BundlerTool)
	out["thread_directive"] = on(p, tree.ThreadDirective)
	out["orchestrator"] = on(p, tree.Orchestrate)
	out["model_program"] = func(ctx context.Context, in exec.NativeCall) (map[string]any, error) {
		return programs.ModelProgram(ctx, p, in)
	}
	maps.Copy(out, threadhost.StepNatives(p))
	return out
}

// tool is the body of a tool that works on a project.
type tool func(context.Context, *project.Project, exec.NativeCall) (map[string]any, error)

// on returns a tool that works on one project.
func on(p *project.Project, body tool) exec.Native {
	return func(ctx context.Context, in exec.NativeCall) (map[string]any, error) {
		return body(ctx, p, in)
	}
}
