package main

import (
	"context"

	"github.com/ryeos/rye/primary/agent"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
)

// checkAgentKeys tells whether a command that an agent runs could sign in the
// user's name.
func checkAgentKeys(ctx context.Context, c *cli.Call) []checkResult {
	const name = "keys and agents"
	open := ""
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err == nil {
		var s *agent.Settings
		if s, err = agent.ReadSettings(ctx, h.Resolver, nil); err == nil {
			open = h.OpenToAgents(s)
		}
	}
	switch {
	case err != nil:
		return []checkResult{{name, statusWarn, "what agents may do cannot be read: " + err.Error(), "mend what it names"}}
	case open == "":
		return []checkResult{{name, statusOK, "no command of an agent finds a key of yours unencrypted", ""}}
	}
	return []checkResult{{name, statusWarn, project.OpenKey(open), project.OpenKeyFix}}
}
