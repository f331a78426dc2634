package doctor

import (
	"context"
	"fmt"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/internal/surface"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// checkAgentKeys reports whether a command that an agent runs can sign with a key
// of the user.
func checkAgentKeys(ctx context.Context, c *cli.Call) []checkResult {
	const name = "keys and agents"
	open := ""
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err == nil {
		var held policy.Held
		if _, held, err = h.AgentSettings(ctx, nil); err == nil {
			open = surface.OpenToAgents(h, held)
		}
	}
	switch {
	case err != nil:
		return []checkResult{{name, statusWarn, "the permissions of agents cannot be read: " + err.Error(), fixOf(err, "correct the file")}}
	case open == "":
		return []checkResult{{name, statusOK, "agents cannot read an unencrypted key of yours", ""}}
	}
	return []checkResult{{name, statusWarn, surface.OpenKey(open), surface.OpenKeyFix}}
}

// checkKeys reports keys that expire soon, and whether an ssh-agent signs for the
// user.
func checkKeys(ctx context.Context, c *cli.Call) []checkResult {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return []checkResult{{"keys", statusWarn, "the keys cannot be read: " + err.Error(), fixOf(err, "correct the file")}}
	}
	var out []checkResult
	for _, f := range relock.EndingKeys(h) {
		out = append(out, checkResult{"keys", statusWarn, f.Message, ""})
	}
	if len(out) == 0 {
		out = append(out, checkResult{"keys", statusOK, fmt.Sprintf("none expires within %d days", int(trust.ExpiryNotice.Hours()/24)), ""})
	}
	return append(out, checkSSHAgent(ctx, c, h))
}

// checkSSHAgent reports which own keys the ssh-agent has: it signs with them without
// asking for a passphrase.
func checkSSHAgent(ctx context.Context, c *cli.Call, h *project.Project) checkResult {
	const name = "ssh-agent"
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	agent, err := sign.DialAgent(ctx, c.Getenv("SSH_AUTH_SOCK"))
	if err != nil {
		return checkResult{name, statusOK, "none: rye asks for the passphrase of a key", ""}
	}
	defer agent.Close()
	held, err := agent.List(ctx)
	if err != nil {
		return checkResult{name, statusWarn, err.Error(), "ssh-add -l"}
	}
	n := 0
	for _, k := range held {
		if k.Public == nil || k.Refused != "" {
			continue
		}
		info, _ := h.Trust.Key(sign.FingerprintOf(k.Public))
		if info.Own {
			n++
		}
	}
	if n == 0 {
		return checkResult{name, statusOK, "it has no key of yours; `rye key agent-add` adds one", ""}
	}
	return checkResult{name, statusOK, "it has " + cli.Plural(n, "key") + " of yours", ""}
}
