package main

import (
	"context"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/sign"
)

// shellTool runs any command, without a sandbox: also rye itself, with what its
// caller may read.
const shellTool = "rye/bash/bash"

// checkAgentKeys tells whether a command that an agent runs could sign in the
// user's name.
func checkAgentKeys(ctx context.Context, c *call) []checkResult {
	const name = "keys and agents"
	open := ""
	h, err := c.house(ctx, lenient)
	if err == nil {
		var s *agent.Settings
		if s, err = agent.ReadSettings(ctx, h.resolver, nil); err == nil {
			open = h.openToAgents(s)
		}
	}
	switch {
	case err != nil:
		return []checkResult{{name, statusWarn, "what agents may do cannot be read: " + err.Error(), "mend what it names"}}
	case open == "":
		return []checkResult{{name, statusOK, "no command of an agent finds a key of yours unencrypted", ""}}
	}
	return []checkResult{{name, statusWarn, openKey(open), openKeyFix}}
}

// warnOfOpenKey says so where a server begins to answer.
func (c *call) warnOfOpenKey(h *house, s *agent.Settings) {
	if c.ui.quiet {
		return
	}
	if open := h.openToAgents(s); open != "" {
		c.ui.Note("%s %s", c.ui.errStyle(yellow, "rye: warning:"), openKey(open))
		c.ui.Note("%s %s", c.ui.errStyle(cyan, "rye: hint:"), openKeyFix)
	}
}

func openKey(file string) string {
	return "agents may run any command (" + shellTool + "), and a command can sign in your name: " + file + " has no passphrase"
}

const openKeyFix = "make a key with a passphrase (rye key new) and hand it over with rye key agent-add --confirm, " +
	"or name what agents may execute without " + shellTool + " (--capabilities, or capabilities in " + agent.SettingsID + ")"

// openToAgents returns the file of a person's own key that every command of an
// agent can read and use, "" when there is none or agents run no commands.
func (h *house) openToAgents(s *agent.Settings) string {
	if s.Caller.Check(policy.Execute, item.Ref{Kind: item.Tool, ID: shellTool}) != nil {
		return ""
	}
	return h.openKeyFile()
}

// openKeyFile returns the first file of a usable key of the user's own, no
// agent's, that is not encrypted.
func (h *house) openKeyFile() string {
	for _, k := range h.trust.Keys() {
		if !k.Own || k.Agent() || !k.State.Usable() {
			continue
		}
		priv, err := sign.ReadKey(h.keyFile(k.Fingerprint), nil)
		clear(priv)
		if err == nil {
			return h.keyFile(k.Fingerprint)
		}
	}
	return ""
}
