package keychain

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/sign"
)

// SSHKey is an ssh key of the user that becomes a key of rye.
type SSHKey struct {
	Signer    sign.Signer
	Location  string // the file of the private key, or sign.InAgent
	Encrypted bool   // only known of a file
}

// SSHKeyOfFile returns the key of a public key file. The ssh-agent signs if it has the
// key, else the private key next to the file.
func (kc *Keychain) SSHKeyOfFile(ctx context.Context, file string) (*SSHKey, error) {
	path := kc.Path(file)
	b, err := openat.ReadRegular(path, maxSSHKeys)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading the ssh key: %w", err).WithReason("ssh_public")
	}
	public, err := sign.ReadSSHPublic(path, b)
	if err != nil {
		return nil, err
	}
	fp := sign.FingerprintOf(public)
	agent := kc.agentSigner(ctx, fp)
	private, err := privateBeside(path)
	switch {
	case err != nil:
		return nil, diag.New(diag.FileSystemError, "opening the ssh key: %w", err)
	case private == "" && agent != nil:
		return &SSHKey{Signer: agent, Location: sign.InAgent}, nil
	case private == "":
		return nil, diag.New(diag.AuthRequired, "opening the ssh key %s: the ssh-agent does not have it, and there is no private key next to it", path).WithReason("no_ssh_private")
	}
	k := &SSHKey{Signer: agent, Location: private}
	if k.Encrypted, err = sign.CheckSSHPrivate(private, public); err != nil {
		return nil, err
	}
	if agent == nil {
		k.Signer, err = kc.sshFileSigner(private, public)
	}
	return k, err
}

// privateBeside returns the private key file that belongs to FILE.pub, "" if there is
// none. The user named this link: a later change of it selects no other key.
func privateBeside(path string) (string, error) {
	beside, isPublic := strings.CutSuffix(path, ".pub")
	if !isPublic {
		return "", nil
	}
	private, err := filepath.EvalSymlinks(beside)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return private, err
}

func (kc *Keychain) sshFileSigner(private string, public ed25519.PublicKey) (sign.Signer, error) {
	priv, err := sign.ReadSSHPrivate(private, public, kc.Passphrase("Passphrase of "+private+": "))
	if err != nil {
		return nil, err
	}
	return sign.NewFileSigner(priv, private), nil
}

// AgentSSHKeys returns the keys of the ssh-agent that can become keys of rye: the
// Ed25519 keys that are not yet.
// A key with a grant has no start: a release from before the grant is the usual case.
func (kc *Keychain) AgentSSHKeys(ctx context.Context) ([]sign.SSHKey, error) {
	a, err := sign.DialAgent(ctx, kc.Getenv("SSH_AUTH_SOCK"))
	if err != nil {
		return nil, err
	}
	defer a.Close()
	held, err := a.List(ctx)
	if err != nil {
		return nil, err
	}
	var keys []sign.SSHKey
	var why []string
	for _, k := range held {
		switch {
		case k.Refused != "":
			why = append(why, k.Format+": "+k.Refused)
		case kc.hasKeyFile(sign.FingerprintOf(k.Public)):
			why = append(why, sign.FingerprintOf(k.Public).Short()+": rye uses it already")
		default:
			keys = append(keys, sign.SSHKey{Public: k.Public, Comment: k.Comment})
		}
	}
	if len(keys) > 0 {
		return keys, nil
	}
	if len(why) == 0 {
		why = []string{"it has no key"}
	}
	return nil, diag.New(diag.KeyUnknown, "choosing a key in the ssh-agent: none can be used (%s)", strings.Join(why, "; ")).WithReason("no_ssh_key")
}

// SSHKeyInAgent returns a key that the ssh-agent has.
func (kc *Keychain) SSHKeyInAgent(ctx context.Context, k sign.SSHKey) (*SSHKey, error) {
	a, err := sign.DialAgent(ctx, kc.Getenv("SSH_AUTH_SOCK"))
	if err != nil {
		return nil, err
	}
	s, err := a.Signer(ctx, sign.FingerprintOf(k.Public))
	if err != nil {
		_ = a.Close()
		return nil, err
	}
	return &SSHKey{Signer: s, Location: sign.InAgent}, nil
}

func (kc *Keychain) hasKeyFile(fp sign.Fingerprint) bool {
	_, err := os.Lstat(kc.KeyFile(fp))
	return err == nil
}
