package key

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/keychain"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/sign"
)

// sshAgent is the value of --ssh that selects a key of the ssh-agent.
const sshAgent = "agent"

// sshKey opens the ssh key of --ssh.
func sshKey(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	o *KeyOptions,
) (*keychain.SSHKey, error) {
	switch {
	case o.NoPassphrase:
		return nil, diag.New(diag.Usage, "making a key: --no-passphrase is for a new key pair, and --ssh makes none")
	case o.Kind == keyAgent:
		return nil, diag.New(diag.Usage, "making a key: an agent signs with its own key, not with an ssh key").WithReason("ssh_for_agent")
	case o.ssh != sshAgent:
		return h.Keys.SSHKeyOfFile(ctx, o.ssh)
	}
	keys, err := h.Keys.AgentSSHKeys(ctx)
	if err != nil {
		return nil, err
	}
	k, err := chooseSSHKey(c, keys)
	if err != nil {
		return nil, err
	}
	return h.Keys.SSHKeyInAgent(ctx, k)
}

// chooseSSHKey returns the only key, or the one that the user chooses at a terminal.
func chooseSSHKey(c *cli.Call, keys []sign.SSHKey) (sign.SSHKey, error) {
	if len(keys) == 1 {
		return keys[0], nil
	}
	severalKeys := diag.New(diag.Usage, "choosing a key in the ssh-agent: it has %d Ed25519 keys", len(keys)).WithReason("which_ssh_key")
	if c.UI.AsJSON || !c.Isatty(c.Stdin) {
		return sign.SSHKey{}, severalKeys
	}
	i, err := ask.SSHKey(c, keys)
	if err != nil {
		return sign.SSHKey{}, err
	}
	if i < 0 {
		return sign.SSHKey{}, severalKeys
	}
	return keys[i], nil
}
