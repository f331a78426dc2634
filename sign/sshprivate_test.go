package sign

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/ryeos/rye/diag"
)

// A key of ssh also signs authentication messages, which begin with the length of the
// session id in 4 bytes, and files, which begin with SSHSIG.
func TestStatementIsNotSSH(t *testing.T) {
	for _, use := range []Use{UseItem, UseTrust, UseEndorsement, UseRevocation, UseRotation, UseManifest, UseThread, UseCheckpoint, UseToken, UseLog} {
		b := Statement(Subject{use, "tool", "a"}, goldenTime(), Fingerprint{}, 1, sha256.Sum256(nil))
		if length := binary.BigEndian.Uint32(b); int64(length) < int64(len(b)) || bytes.HasPrefix(b, []byte("SSHSIG")) {
			t.Errorf("%s begins like a message of ssh: %q", use, b[:6])
		}
	}
}

func sshPrivate(t *testing.T, priv ed25519.PrivateKey, passphrase string) string {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(priv, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(priv, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block))
}

func TestSSHKeyFile(t *testing.T) {
	dir := keyDir(t)
	public, other := pubOf(goldenKey()), ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	private := writeFile(t, filepath.Join(dir, "id"), sshPrivate(t, goldenKey(), ""), 0o600)
	ref := func(name, location string) string {
		data, err := NewSSHKeyFile(filepath.Join(dir, name), public, location)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, goldenKey().Seed()) {
			t.Error("the key file contains the private key")
		}
		return writeFile(t, filepath.Join(dir, name), string(data), 0o600)
	}
	path, inAgent := ref("file.pem", private), ref("agent.pem", InAgent)
	if priv, err := ReadKey(path, mustNotAsk(t)); err != nil || !priv.Equal(goldenKey()) || SSHLocation(path) != private || SSHLocation(inAgent) != InAgent || SSHLocation(private) != "" {
		t.Errorf("%v, %q, %q", err, SSHLocation(path), SSHLocation(inAgent))
	}
	_, err := ReadKey(inAgent, mustNotAsk(t))
	wantCode(t, "in the agent", err, diag.AuthRequired)
	for _, location := range []string{"id", "", " /id", "/id\n", "/id\nX: y", "agent"} {
		_, err := NewSSHKeyFile(filepath.Join(dir, "new.pem"), public, location)
		wantCode(t, location, err, diag.Usage)
	}
	if _, err := NewSSHKeyFile(path, public, private); diag.CodeOf(err) != diag.FileSystemError {
		t.Errorf("an existing key file: %v", err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"a relative path": strings.Replace(string(good), private, "id", 1),
		"two headers":     strings.Replace(string(good), "Private-Key:", "More: x\nPrivate-Key:", 1),
		"a short key":     string(pem.EncodeToMemory(&pem.Block{Type: sshReference, Headers: map[string]string{sshPrivateKey: private}, Bytes: public[1:]})),
		"two blocks":      string(good) + string(good),
	} {
		_, err := ReadKey(writeFile(t, filepath.Join(dir, "bad.pem"), text, 0o600), mustNotAsk(t))
		wantCode(t, what, err, diag.ParsingError)
	}
	for what, private := range map[string]string{"another key": sshPrivate(t, other, ""), "another encrypted key": sshPrivate(t, other, "x")} {
		_, err := CheckSSHPrivate(writeFile(t, filepath.Join(dir, "other"), private, 0o600), public)
		wantCode(t, what, err, diag.KeyUnknown)
	}
	writeFile(t, private, "text", 0o600)
	_, err = ReadKey(path, mustNotAsk(t))
	wantCode(t, "a text", err, diag.ParsingError)
	if err := os.Remove(private); err != nil {
		t.Fatal(err)
	}
	_, err = ReadKey(path, mustNotAsk(t))
	wantCode(t, "a missing file", err, diag.AuthRequired)
}

func TestSSHPassphrase(t *testing.T) {
	if testing.Short() {
		t.Skip("bcrypt")
	}
	path := writeFile(t, filepath.Join(keyDir(t), "id"), sshPrivate(t, goldenKey(), "correct"), 0o600)
	public := pubOf(goldenKey())
	if encrypted, err := CheckSSHPrivate(path, public); err != nil || !encrypted {
		t.Errorf("%v, %v", encrypted, err)
	}
	if priv, err := ReadSSHPrivate(path, public, pass("correct")); err != nil || !priv.Equal(goldenKey()) {
		t.Error(err)
	}
	_, err := ReadSSHPrivate(path, public, pass("wrong"))
	wantCode(t, "a wrong passphrase", err, diag.AuthFailed)
	_, err = ReadSSHPrivate(path, public, nil)
	wantCode(t, "no passphrase", err, diag.AuthRequired)
}

func TestReadSSHPublic(t *testing.T) {
	one, first := sshLine(t, 1)
	_, second := sshLine(t, 2)
	if k, err := ReadSSHPublic("id.pub", []byte(first)); err != nil || !k.Equal(one) {
		t.Error(err)
	}
	for text, code := range map[string]diag.Code{
		first + second: diag.Usage, "": diag.Usage, "<html>": diag.ParsingError,
		sshPrivate(t, goldenKey(), ""): diag.Usage,
		"sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAAAABHNzaDo=": diag.KeyUnknown,
	} {
		_, err := ReadSSHPublic("id.pub", []byte(text))
		wantCode(t, text, err, code)
	}
}
