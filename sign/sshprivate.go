package sign

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/ryeos/rye/diag"
)

// InAgent is the location of a private key that only an ssh-agent has.
const InAgent = "ssh-agent"

// The PEM block of a key file that records where the private half of an ssh key is. Its
// body is the raw public key.
const (
	sshReference  = "RYE SSH KEY"
	sshPrivateKey = "Private-Key" // the header with the path, or InAgent
)

// NewSSHKeyFile is NewKeyFile for an ssh key. The file has the public key and the
// location of the private one: an absolute path, or InAgent. It has no private key.
func NewSSHKeyFile(path string, public ed25519.PublicKey, location string) ([]byte, error) {
	plain := location == strings.TrimSpace(location) &&
		!strings.ContainsFunc(location, func(r rune) bool {
			return r < ' ' || r == 0x7f
		})
	if !plain || location != InAgent && !filepath.IsAbs(location) {
		return nil, diag.New(diag.Usage, "recording ssh key %q: it is not an absolute path without control characters", location)
	}
	if err := checkNewKey(path); err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: sshReference, Headers: map[string]string{sshPrivateKey: location}, Bytes: public}), nil
}

// SSHLocation returns where the private half of an ssh key is, and "" for a key file
// that is not one of NewSSHKeyFile.
func SSHLocation(path string) string {
	data, err := readPrivate(path)
	if err != nil {
		return ""
	}
	defer clear(data)
	block, _ := pem.Decode(data)
	if block != nil && block.Type == sshReference {
		return block.Headers[sshPrivateKey]
	}
	return ""
}

// readReferenced reads the private key of a key file of NewSSHKeyFile.
func readReferenced(
	path string,
	block *pem.Block,
	passphrase func() ([]byte, error),
) (ed25519.PrivateKey, error) {
	public := ed25519.PublicKey(block.Bytes)
	location := block.Headers[sshPrivateKey]
	if len(public) != ed25519.PublicKeySize ||
		len(block.Headers) != 1 ||
		location != InAgent && !filepath.IsAbs(location) {
		return nil, diag.New(diag.ParsingError, "reading key %s: it does not have an ssh key and its location", path)
	}
	if location == InAgent {
		return nil, diag.New(diag.AuthRequired, "reading key %s: the private key is in an ssh-agent only, and this agent does not have it", path).WithReason("only_in_agent")
	}
	return ReadSSHPrivate(location, public, passphrase)
}

// ReadSSHPrivate reads a private key of ssh, which must belong to public. ReadKey
// states the rules for the file and for passphrase.
func ReadSSHPrivate(
	path string,
	public ed25519.PublicKey,
	passphrase func() ([]byte, error),
) (ed25519.PrivateKey, error) {
	data, err := readSSHFile(path)
	if err != nil {
		return nil, err
	}
	defer clear(data)
	key, err := ssh.ParseRawPrivateKey(data)
	encrypted := (*ssh.PassphraseMissingError)(nil)
	if errors.As(err, &encrypted) {
		pass, err := askPassphrase(path, passphrase)
		if err != nil {
			return nil, err
		}
		if key, err = ssh.ParseRawPrivateKeyWithPassphrase(data, pass); errors.Is(err, x509.IncorrectPasswordError) {
			return nil, diag.New(diag.AuthFailed, "reading ssh key %s: the passphrase is wrong", path).
				WithReason("ssh_passphrase").
				WithDetail("path", path)
		} else if err != nil {
			return nil, notSSHKey(path, err)
		}
	} else if err != nil {
		return nil, notSSHKey(path, err)
	}
	var priv ed25519.PrivateKey
	switch k := key.(type) {
	case *ed25519.PrivateKey:
		priv = *k
	case ed25519.PrivateKey:
		priv = k
	}
	if priv == nil || !public.Equal(priv.Public()) {
		return nil, otherSSHKey(path)
	}
	return priv, nil
}

// CheckSSHPrivate reports whether the private key in a file is encrypted. It asks for
// no passphrase. A file of another key is an error.
func CheckSSHPrivate(path string, public ed25519.PublicKey) (encrypted bool, err error) {
	data, err := readSSHFile(path)
	if err != nil {
		return false, err
	}
	defer clear(data)
	_, err = ssh.ParseRawPrivateKey(data)
	missing := (*ssh.PassphraseMissingError)(nil)
	if errors.As(err, &missing) {
		// Older formats of the file show the public key only after decryption.
		k, ok := missing.PublicKey.(ssh.CryptoPublicKey)
		if ok && !public.Equal(k.CryptoPublicKey()) {
			return true, otherSSHKey(path)
		}
		return true, nil
	}
	priv, err := ReadSSHPrivate(path, public, nil)
	clear(priv)
	return false, err
}

func readSSHFile(path string) ([]byte, error) {
	data, err := readPrivate(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.AuthRequired, "reading ssh key %s: %w", path, fs.ErrNotExist).
			WithReason("ssh_key_gone").
			WithDetail("path", path)
	}
	return data, err
}

func notSSHKey(path string, err error) error {
	return diag.New(diag.ParsingError, "reading ssh key %s: it is not a private key of ssh: %w", path, err)
}

func otherSSHKey(path string) error {
	return diag.New(diag.KeyUnknown, "reading ssh key %s: it is the private key of another public key", path).WithReason("other_ssh_key")
}

// ReadSSHPublic returns the one Ed25519 key of a public key file of ssh.
func ReadSSHPublic(path string, b []byte) (ed25519.PublicKey, error) {
	if bytes.Contains(b, []byte("PRIVATE KEY-----")) {
		return nil, diag.New(diag.Usage, "reading ssh key %s: it is a private key", path).
			WithReason("ssh_private").
			WithDetail("path", path)
	}
	keys, others, err := ReadSSHKeys(b)
	switch {
	case err != nil:
		return nil, diag.New(diag.CodeOf(err), "reading %s: %w", path, err)
	case len(others) > 0:
		return nil, diag.New(
			diag.KeyUnknown,
			"reading ssh key %s: it is of type %s: %s",
			path,
			others[0],
			refusedType(others[0]),
		).
			WithReason("ssh_type")
	case len(keys) != 1:
		return nil, diag.New(diag.Usage, "reading ssh key %s: it has %d keys, want one", path, len(keys))
	}
	return keys[0].Public, nil
}

// refusedType returns why keys of a type cannot sign.
func refusedType(format string) string {
	switch {
	case strings.HasPrefix(format, "sk-"):
		return "a security key adds a counter to what it signs, so its signatures do not verify as plain Ed25519"
	case strings.Contains(format, "-cert-"):
		return "it is a certificate; name the public key file"
	}
	return "only plain ssh-ed25519 keys can sign"
}
