package sign

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/ryeos/rye/diag"
)

func pass(s string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(s), nil }
}

func mustNotAsk(t *testing.T) func() ([]byte, error) {
	return func() ([]byte, error) { t.Error("asked for a passphrase"); return nil, nil }
}

func writeFile(t *testing.T, path, data string, perm fs.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, perm); err != nil {
		t.Fatal(err)
	}
	return path
}

// keyDir returns a directory that only its owner may enter.
func keyDir(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "keys")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestGenerateKey(t *testing.T) {
	a, err := GenerateKey(bytes.NewReader(bytes.Repeat([]byte{0x2a}, 32)))
	if err != nil || !a.Equal(goldenKey()) {
		t.Errorf("from a fixed source: %v", err)
	}
	b, err := GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := GenerateKey(nil); b.Equal(c) {
		t.Error("two keys are equal")
	}
	if _, err := GenerateKey(bytes.NewReader(make([]byte, 31))); err == nil {
		t.Error("a short source gave a key")
	}
}

func writeKey(path string, priv ed25519.PrivateKey, passphrase []byte) error {
	data, err := NewKeyFile(path, priv, passphrase)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

func TestKeyFileRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "keys")
	enc, plain := filepath.Join(dir, "enc.pem"), filepath.Join(dir, "plain.pem")
	if err := writeKey(enc, goldenKey(), []byte("correct horse")); err != nil {
		t.Fatal(err)
	}
	if err := writeKey(plain, goldenKey(), nil); err != nil {
		t.Fatal(err)
	}
	for path, head := range map[string]string{enc: "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n", plain: "-----BEGIN PRIVATE KEY-----\n"} {
		data, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(data), head) {
			t.Errorf("%s: %v\n%s", path, err, data)
		}
		if path == enc && bytes.Contains(data, goldenKey().Seed()) {
			t.Error("the encrypted file holds the seed")
		}
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("directory mode %v, %v", info.Mode(), err)
	}
	if got, err := ReadKey(enc, pass("correct horse")); err != nil || !got.Equal(goldenKey()) {
		t.Errorf("encrypted: %v", err)
	}
	if got, err := ReadKey(plain, mustNotAsk(t)); err != nil || !got.Equal(goldenKey()) {
		t.Errorf("plain: %v", err)
	}
	_, err := ReadKey(enc, pass("wrong"))
	wantCode(t, "wrong passphrase", err, diag.AuthFailed)
	_, err = ReadKey(enc, nil)
	wantCode(t, "no passphrase at hand", err, diag.AuthRequired)
	_, err = ReadKey(enc, func() ([]byte, error) { return nil, nil })
	wantCode(t, "nil passphrase", err, diag.AuthRequired)
	if _, err = ReadKey(enc, func() ([]byte, error) { return nil, errBroken }); !errors.Is(err, errBroken) {
		t.Errorf("failing prompt: %v", err)
	}
	signer, err := OpenFileSigner(plain, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out, _, err := Sign(context.Background(), []byte(toolBody), style(t, "#"), tool("demo/hello"), signer, goldenTime()); err != nil || verifyTool(string(out)) != nil {
		t.Errorf("signing with the file: %v", err)
	}
}

func TestNewKeyFileRefuses(t *testing.T) {
	dir := keyDir(t)
	path := writeFile(t, filepath.Join(dir, "there.pem"), "precious", 0o600)
	err := writeKey(path, goldenKey(), nil)
	if got, _ := os.ReadFile(path); !errors.Is(err, fs.ErrExist) || string(got) != "precious" {
		t.Errorf("existing file: %v, now %q", err, got)
	}
	wantCode(t, "empty passphrase", writeKey(filepath.Join(dir, "a"), goldenKey(), []byte{}), diag.Usage)
	wantCode(t, "no key", writeKey(filepath.Join(dir, "b"), nil, nil), diag.Internal)
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("files were left behind: %v", left)
	}
}

func TestKeyFileGuards(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits and links without privilege exist on Unix only")
	}
	dir := keyDir(t)
	good := filepath.Join(dir, "good.pem")
	if err := writeKey(good, goldenKey(), nil); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(good)
	for _, perm := range []fs.FileMode{0o640, 0o604, 0o644, 0o620, 0o601, 0o660, 0o666} {
		path := writeFile(t, filepath.Join(dir, fmt.Sprintf("%o.pem", perm)), string(data), perm)
		_, err := ReadKey(path, nil)
		if e, ok := err.(*diag.Error); !ok || e.Code != diag.FileSystemError || e.Reason != "key_mode" || e.Details["mode"] != "600" {
			t.Errorf("mode %o: %v", perm, err)
		}
	}
	soft, hard := filepath.Join(dir, "soft.pem"), filepath.Join(dir, "hard.pem")
	if err := os.Symlink(good, soft); err != nil {
		t.Fatal(err)
	}
	_, err := ReadKey(soft, nil)
	wantCode(t, "symbolic link", err, diag.NotRegular)
	_, err = ReadKey(dir, nil)
	if err == nil {
		t.Error("a directory was read")
	}
	if err := os.Link(good, hard); err != nil {
		t.Fatal(err)
	}
	_, err = ReadKey(good, nil)
	wantCode(t, "hard link", err, diag.NotRegular)
	os.Remove(hard)
	if _, err = ReadKey(good, nil); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err = ReadKey(good, nil)
	wantCode(t, "directory others may write", err, diag.FileSystemError)
	wantCode(t, "writing into it", writeKey(filepath.Join(dir, "new.pem"), goldenKey(), nil), diag.FileSystemError)
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "directory others may enter", writeKey(filepath.Join(dir, "new.pem"), goldenKey(), nil), diag.FileSystemError)
}

func TestReadKeyRefusesOtherContent(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, _ := cryptoutils.MarshalPrivateKeyToDER(ec)
	goodDER, _ := cryptoutils.MarshalPrivateKeyToDER(goldenKey())
	good := string(cryptoutils.PEMEncode(cryptoutils.PrivateKeyPEMType, goodDER))
	pub, _ := cryptoutils.MarshalPublicKeyToPEM(goldenKey().Public())
	headers := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED"}, Bytes: goodDER})
	dir := keyDir(t)
	for what, c := range map[string]struct {
		data string
		code diag.Code
	}{
		"empty": {"", diag.ParsingError}, "text": {"hello", diag.ParsingError}, "two blocks": {good + good, diag.ParsingError},
		"trailing": {good + "x", diag.ParsingError}, "public": {string(pub), diag.ParsingError}, "headers": {string(headers), diag.ParsingError},
		"ECDSA":     {string(cryptoutils.PEMEncode(cryptoutils.PrivateKeyPEMType, der)), diag.ParsingError},
		"truncated": {string(cryptoutils.PEMEncode(cryptoutils.PrivateKeyPEMType, goodDER[:20])), diag.ParsingError},
		"not json":  {string(cryptoutils.PEMEncode(cryptoutils.EncryptedSigstorePrivateKeyPEMType, goodDER)), diag.AuthFailed},
		"pkcs1":     {string(cryptoutils.PEMEncode("RSA PRIVATE KEY", der)), diag.ParsingError},
		"huge":      {good + strings.Repeat("\n", maxKeyFile), diag.TooLarge},
	} {
		_, err := ReadKey(writeFile(t, filepath.Join(dir, what), c.data, 0o600), pass("x"))
		wantCode(t, what, err, c.code)
	}
	_, err = ReadKey(filepath.Join(dir, "absent"), nil)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
}

func TestFileSignerHidesTheKey(t *testing.T) {
	s := NewFileSigner(goldenKey(), "golden.pem")
	seed := fmt.Sprintf("%x", goldenKey().Seed()[:4])
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%+v", s), fmt.Sprintf("%#v", s), s.String()} {
		if strings.Contains(text, seed) || strings.Contains(text, "42, 42") || !strings.Contains(text, "golden.pem") {
			t.Errorf("%s", text)
		}
	}
}

func TestEnvSigner(t *testing.T) {
	if testing.Short() {
		t.Skip("derives keys from passphrases")
	}
	dir := keyDir(t)
	enc, plain := filepath.Join(dir, "enc.pem"), filepath.Join(dir, "plain.pem")
	if err := writeKey(enc, goldenKey(), []byte("horse")); err != nil {
		t.Fatal(err)
	}
	if err := writeKey(plain, goldenKey(), nil); err != nil {
		t.Fatal(err)
	}
	file := func(name, data string) string { return writeFile(t, filepath.Join(dir, name), data, 0o600) }
	for what, c := range map[string]struct {
		key, pass string
		code      diag.Code // "" is success
	}{
		"plain":               {plain, "", ""},
		"encrypted":           {enc, file("p1", "horse"), ""},
		"line feed":           {enc, file("p2", "horse\n"), ""},
		"CR LF":               {enc, file("p3", "horse\r\n"), ""},
		"two line feeds":      {enc, file("p4", "horse\n\n"), diag.AuthFailed},
		"wrong":               {enc, file("p5", "pony"), diag.AuthFailed},
		"empty":               {enc, file("p6", "\n"), diag.AuthRequired},
		"no passphrase file":  {enc, "", diag.AuthRequired},
		"absent passphrase":   {enc, filepath.Join(dir, "absent"), diag.FileSystemError},
		"absent key":          {filepath.Join(dir, "absent"), "", diag.FileSystemError},
		"passphrase, no key":  {"", file("p7", "horse"), diag.Usage},
		"a value, not a path": {enc, "horse", diag.FileSystemError},
	} {
		env := map[string]string{EnvKeyFile: c.key, EnvPassphraseFile: c.pass}
		s, ok, err := EnvSigner(func(k string) string { return env[k] })
		if c.code != "" {
			wantCode(t, what, err, c.code)
			continue
		}
		if err != nil || !ok || !bytes.Equal(s.Public(), pubOf(goldenKey())) {
			t.Errorf("%s: %v, %v", what, ok, err)
		}
	}
	if s, ok, err := EnvSigner(func(string) string { return "" }); s != nil || ok || err != nil {
		t.Errorf("empty environment: %v, %v, %v", s, ok, err)
	}
	if runtime.GOOS != "windows" {
		env := map[string]string{EnvKeyFile: enc, EnvPassphraseFile: writeFile(t, filepath.Join(dir, "loose"), "horse", 0o644)}
		_, _, err := EnvSigner(func(k string) string { return env[k] })
		wantCode(t, "passphrase others may read", err, diag.FileSystemError)
	}
}
