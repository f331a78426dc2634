package project

import (
	"context"
	"maps"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/primary/agent"
)

// AllParts returns the parts of the program.
func AllParts() Parts {
	return Parts{
		Natives:      natives,
		Provide:      provide,
		Approve:      approve,
		Broker:       openBroker,
		Dependencies: dependencies,
		Workspace:    workspace,
	}
}

// natives returns the Go functions that tools of the project may name in
// config.func.
func natives(p *Project) map[string]exec.Native {
	out := map[string]exec.Native{}
	maps.Copy(out, agent.Natives(func(ctx context.Context) (*agent.Workspace, error) { return p.Workspace(ctx) }))
	maps.Copy(out, mcpclient.Natives(p.mcpParams()))
	out["graph"] = p.runGraph
	out["graphs"] = p.graphsTool
	out["registry"] = p.registryTool
	out["bundler"] = p.bundlerTool
	out["thread_directive"] = p.threadDirective
	out["orchestrator"] = p.orchestrate
	out["model_program"] = p.modelProgram
	maps.Copy(out, p.stepNatives())
	return out
}
