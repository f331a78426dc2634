package surface

import (
	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/sign"
)

// shellTool runs any command, rye itself included. Without a sandbox it has the access
// of its caller.
const shellTool = "rye/bash/bash"

// warnOfOpenKey warns, when a server starts, of a key that agents can sign with.
func warnOfOpenKey(p *project.Project, held policy.Held) {
	if open := OpenToAgents(p, held); open != "" {
		p.Env.Person.Notef("rye: warning: %s", OpenKey(open))
		p.Env.Person.Notef("rye: hint: %s", OpenKeyFix)
	}
}

// OpenKey describes the risk of a key file without a passphrase.
func OpenKey(file string) string {
	return "agents may run any command (" + shellTool + "), and a command can sign in your name: " + file + " has no passphrase"
}

// OpenKeyFix is what the user can do about it.
const OpenKeyFix = "make a key with a passphrase (rye key new) and hand it over with rye key agent-add --confirm, " +
	"or name what agents may execute without " + shellTool + " (--capabilities, or capabilities in " + agent.SettingsID + ")"

// OpenToAgents returns the file of a person's own key that every command of an
// agent can read and use, "" when there is none, when agents run no commands, or when
// this system hides the file from them.
func OpenToAgents(p *project.Project, held policy.Held) string {
	ladder := sandbox.Probe
	if p.Env.Ladder != nil {
		ladder = p.Env.Ladder
	}
	if ladder().Best != sandbox.Basic {
		return ""
	}
	if held.Allows(policy.Execute, item.Ref{Kind: item.Tool, ID: shellTool}) != nil {
		return ""
	}
	return openKeyFile(p)
}

// openKeyFile returns the first file of a usable key of the user's own, no
// agent's, that is not encrypted.
func openKeyFile(p *project.Project) string {
	for _, k := range p.Trust.Keys() {
		if !k.Own ||
			k.Agent() ||
			k.GrantOnly ||
			!k.State.Usable() {
			continue
		}
		priv, err := sign.ReadKey(p.Keys.KeyFile(k.Fingerprint), nil)
		clear(priv)
		if err == nil {
			return p.Keys.KeyPath(k.Fingerprint)
		}
	}
	return ""
}
