package sign

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
)

// maxKeyFile is the maximum size of a key file in bytes. It is far above any real
// one, and limits what is read from a wrong path.
const maxKeyFile = 64 << 10

// GenerateKey returns a new key from 32 bytes of random. If random is nil it uses
// the machine's generator.
func GenerateKey(random io.Reader) (ed25519.PrivateKey, error) {
	if random == nil {
		random = rand.Reader
	}
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return nil, diag.New(diag.FileSystemError, "generating a key: %w", err)
	}
	defer clear(seed)
	return ed25519.NewKeyFromSeed(seed), nil
}

// NewKeyFile returns the content of a new key file at path, which the caller writes
// so that only its owner can read it. It creates the directory, which only its owner
// may enter, if it is missing. It is an error if the file exists. A nil passphrase
// leaves the key unprotected; an empty one is refused.
func NewKeyFile(path string, priv ed25519.PrivateKey, passphrase []byte) ([]byte, error) {
	if err := checkNewKey(path); err != nil {
		return nil, err
	}
	return encodeKey(priv, passphrase)
}

// checkNewKey creates the directory of a new key file and checks both.
func checkNewKey(path string) error {
	dir := filepath.Dir(path)
	if err := atomicfile.Private(dir).MkdirAll("."); err != nil {
		return diag.Doing("writing key "+path, err)
	}
	if err := checkKeyDir(dir); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return diag.New(diag.FileSystemError, "writing key %s: %w", path, fs.ErrExist).WithReason("key_exists")
	}
	return nil
}

func encodeKey(priv ed25519.PrivateKey, passphrase []byte) ([]byte, error) {
	if len(priv) != ed25519.PrivateKeySize {
		return nil, diag.New(diag.Internal, "encoding a key: it has %d bytes, want %d", len(priv), ed25519.PrivateKeySize)
	}
	kind := cryptoutils.PrivateKeyPEMType
	der, err := cryptoutils.MarshalPrivateKeyToDER(priv)
	switch {
	case passphrase == nil:
	case len(passphrase) == 0:
		return nil, diag.New(diag.Usage, "encoding a key: the passphrase is empty").WithReason("empty_passphrase")
	default:
		kind = cryptoutils.EncryptedSigstorePrivateKeyPEMType
		der, err = cryptoutils.MarshalPrivateKeyToEncryptedDER(priv, func(bool) ([]byte, error) {
			return passphrase, nil
		})
	}
	if err != nil {
		return nil, diag.New(diag.Internal, "encoding a key: %w", err)
	}
	defer clear(der)
	return cryptoutils.PEMEncode(kind, der), nil
}

// ReadKey reads a key file with the content of NewKeyFile, or of cosign with Ed25519,
// or the ssh key that a file with the content of NewSSHKeyFile names. It refuses
// links, and on Unix a file that others may read and a directory where others may
// replace it. passphrase is asked only for an encrypted key; nil
// means that there is none to give (AUTH_REQUIRED). A wrong one is
// AUTH_FAILED.
func ReadKey(path string, passphrase func() ([]byte, error)) (ed25519.PrivateKey, error) {
	data, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	defer clear(data)
	return decodeKey(path, data, passphrase)
}

func decodeKey(
	path string,
	data []byte,
	passphrase func() ([]byte, error),
) (ed25519.PrivateKey, error) {
	bad := func(format string, args ...any) error {
		return diag.New(diag.ParsingError, "reading key %s: "+format, append([]any{path}, args...)...)
	}
	block, rest := pem.Decode(data)
	if block != nil && block.Type == sshReference && len(bytes.TrimSpace(rest)) == 0 {
		return readReferenced(path, block, passphrase)
	}
	if block == nil ||
		len(bytes.TrimSpace(rest)) > 0 ||
		len(block.Headers) > 0 {
		return nil, bad("it is not one PEM block")
	}
	defer clear(block.Bytes)
	var pass []byte
	switch block.Type {
	case string(cryptoutils.PrivateKeyPEMType):
	case string(cryptoutils.EncryptedSigstorePrivateKeyPEMType), "ENCRYPTED COSIGN PRIVATE KEY":
		var err error
		if pass, err = askPassphrase(path, passphrase); err != nil {
			return nil, err
		}
	default:
		return nil, bad("%q is not a type of PEM block that contains a rye key", block.Type)
	}
	key, err := cryptoutils.UnmarshalPEMToPrivateKey(data, func(bool) ([]byte, error) {
		return pass, nil
	})
	if err != nil && pass != nil {
		return nil, diag.New(diag.AuthFailed, "reading key %s: the passphrase is wrong or the file is damaged: %w", path, err).WithReason("passphrase")
	} else if err != nil {
		return nil, bad("%w", err)
	}
	priv, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, bad("it contains a %T, want Ed25519", key)
	}
	return priv, nil
}

func askPassphrase(path string, passphrase func() ([]byte, error)) ([]byte, error) {
	missing := diag.New(diag.AuthRequired, "reading key %s: it is encrypted, and there is no passphrase", path).
		WithReason("no_passphrase").WithDetail("variable", EnvPassphraseFile)
	if passphrase == nil {
		return nil, missing
	}
	pass, err := passphrase()
	if err != nil {
		return nil, err
	}
	if pass == nil {
		return nil, missing
	}
	return pass, nil
}

// readPrivate returns the content of a file that only its owner may read, as for
// a key.
func readPrivate(path string) ([]byte, error) {
	f, err := openPrivate(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, openFailed(path, err)
	}
	if len(data) > maxKeyFile {
		return nil, diag.New(diag.TooLarge, "reading %s: it has more than %d bytes", path, maxKeyFile)
	}
	return data, nil
}

func openFailed(path string, err error) error {
	e := diag.New(diag.FileSystemError, "reading %s: %w", path, err)
	if errors.Is(err, fs.ErrNotExist) {
		e = e.WithReason("no_key_file")
	}
	return e
}

func notPlain(path, what string) error {
	return diag.New(diag.NotRegular, "reading %s: %s", path, what).WithReason("key_not_plain")
}

// FileSigner signs with a private key in memory.
type FileSigner struct {
	priv ed25519.PrivateKey
	name string
}

// NewFileSigner returns a signer for a key that was read from name.
func NewFileSigner(priv ed25519.PrivateKey, name string) *FileSigner {
	return &FileSigner{priv, name}
}

// OpenFileSigner reads a key file, as ReadKey does, into a signer.
func OpenFileSigner(path string, passphrase func() ([]byte, error)) (*FileSigner, error) {
	priv, err := ReadKey(path, passphrase)
	if err != nil {
		return nil, err
	}
	return NewFileSigner(priv, path), nil
}

// Public returns the public key.
func (s *FileSigner) Public() ed25519.PublicKey {
	return s.priv.Public().(ed25519.PublicKey)
}

// Sign signs msg.
func (s *FileSigner) Sign(ctx context.Context, msg []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, diag.New(diag.Cancelled, "signing: %w", err)
	}
	return ed25519.Sign(s.priv, msg), nil
}

// String returns the fingerprint and the file. It does not contain the key.
func (s *FileSigner) String() string {
	return "key " + FingerprintOf(s.Public()).Short() + " in " + s.name
}

// GoString is String, so that %#v does not print the key.
func (s *FileSigner) GoString() string {
	return s.String()
}
