package sign

import (
	"bytes"
	"crypto/ed25519"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

func sshLine(t *testing.T, n byte) (ed25519.PublicKey, string) {
	t.Helper()
	pub := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	key, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return pub, string(ssh.MarshalAuthorizedKey(key))
}

func TestReadSSHKeys(t *testing.T) {
	one, first := sshLine(t, 1)
	two, second := sshLine(t, 2)
	sk := "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAAAABHNzaDo= leo\n"
	keys, others, err := ReadSSHKeys([]byte("# keys\n\n" + first + sk + strings.TrimSuffix(second, "\n") + " leo@host"))
	if err != nil || len(keys) != 2 || !keys[0].Public.Equal(one) || !keys[1].Public.Equal(two) || keys[1].Comment != "leo@host" || len(others) != 1 {
		t.Fatalf("%v, %v, %v", keys, others, err)
	}
	weak, err := ssh.NewPublicKey(ed25519.PublicKey(make([]byte, ed25519.PublicKeySize)))
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"a page":             "<html>",
		"options":            `command="x" ` + first,
		"a damaged key":      strings.Replace(first, "AAAA", "AAAB", 1),
		"a weak key":         string(ssh.MarshalAuthorizedKey(weak)),
		"a damaged one last": first + "ssh-ed25519 AAAA\n",
	} {
		if keys, _, err := ReadSSHKeys([]byte(text)); err == nil {
			t.Errorf("%s: %v", what, keys)
		}
	}
}

func TestMatchFingerprint(t *testing.T) {
	pub, _ := sshLine(t, 1)
	whole := FingerprintOf(pub).String()
	for _, text := range []string{whole, strings.ToUpper(whole), FingerprintGroups(FingerprintOf(pub)), SSHFingerprint(pub), SSHFingerprint(pub) + "="} {
		if !MatchFingerprint(text, pub) {
			t.Errorf("%q does not match", text)
		}
	}
	flipped := "0" + whole[1:]
	if flipped == whole {
		flipped = "1" + whole[1:]
	}
	for _, text := range []string{"", whole[:16], whole[:63], whole + "0", flipped, "SHA256:", SSHFingerprint(pub)[:20], strings.ToLower(SSHFingerprint(pub))} {
		if MatchFingerprint(text, pub) {
			t.Errorf("%q matches", text)
		}
	}
}
