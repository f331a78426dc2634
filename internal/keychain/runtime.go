package keychain

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// runtimeKeyFile is the private runtime key in the directory of private keys. Its key
// document is next to it and not in the trust directory: no item that it signed is
// trusted.
const runtimeKeyFile = "runtime.pem"

const maxKeyDocument = 64 << 10

func runtimeDocument(fp sign.Fingerprint) string {
	return "runtime-" + fp.String() + ".toml"
}

// RuntimeKey returns the key that signs the logs of runs. It is made on first need,
// without a passphrase: it proves which account recorded a run, nothing else.
func (kc *Keychain) RuntimeKey(ctx context.Context) (sign.Signer, error) {
	dir := kc.Dirs.Keys()
	if dir == "" {
		return nil, diag.New(diag.FileSystemError, "opening the runtime key: the environment names no configuration directory that is the user's own").
			WithReason("no_state_directory")
	}
	signer, err := sign.OpenFileSigner(filepath.Join(dir, runtimeKeyFile), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return kc.newRuntimeKey(ctx, dir)
	}
	if err != nil {
		return nil, err
	}
	_, ok := kc.RuntimePublic(sign.FingerprintOf(signer.Public()))
	if !ok {
		return signer, kc.describeRuntimeKey(ctx, dir, signer) // a process was stopped between the two files
	}
	return signer, nil
}

func (kc *Keychain) newRuntimeKey(ctx context.Context, dir string) (sign.Signer, error) {
	base := atomicfile.Private(dir)
	lock, err := base.Lock(ctx, "runtime.lock")
	if err != nil {
		return nil, diag.Doing("making the runtime key", err)
	}
	defer func() { _ = lock.Release() }()
	path := filepath.Join(dir, runtimeKeyFile)
	if signer, err := sign.OpenFileSigner(path, nil); err == nil {
		return signer, nil // another process made it
	}
	priv, err := sign.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	defer clear(priv)
	signer := sign.NewFileSigner(slices.Clone(priv), path)
	file, err := sign.NewKeyFile(path, priv, nil)
	if err != nil {
		return nil, err
	}
	defer clear(file)
	// The document is first: it is needed to verify what the key signs.
	if err := kc.describeRuntimeKey(ctx, dir, signer); err != nil {
		return nil, err
	}
	if err := base.Write(runtimeKeyFile, file, 0o600); err != nil {
		return nil, diag.Doing("making the runtime key", err)
	}
	return signer, nil
}

// describeRuntimeKey writes the key document.
func (kc *Keychain) describeRuntimeKey(ctx context.Context, dir string, signer sign.Signer) error {
	now := kc.Now().UTC().Truncate(time.Second)
	owner := cmp.Or(kc.Getenv("USER"), kc.Getenv("USERNAME"), "this account") + " (runs)"
	scope := doc.Scope{Kinds: []string{"knowledge"}, Namespaces: []string{"threads/**", "graphs/**"}}
	name, b, err := doc.NewKey(ctx, doc.KeyParams{
		Owner:     owner,
		KeyKind:   doc.KeyRuntime,
		NotBefore: now,
		NotAfter:  now.AddDate(doc.MaxYears, 0, 0),
		Scope:     scope,
		Now:       now,
	}, signer)
	if err != nil {
		return err
	}
	err = kc.Record(ctx, space.User, trust.File{Name: name, Data: b})
	if err != nil {
		return err
	}
	err = atomicfile.Private(dir).Write(
		runtimeDocument(sign.FingerprintOf(signer.Public())),
		b,
		0o600,
	)
	if err != nil {
		return diag.Doing("making the runtime key", err)
	}
	return nil
}

// RuntimePublic returns the public half of a runtime key of this account, also of one
// whose private half is gone.
func (kc *Keychain) RuntimePublic(fp sign.Fingerprint) ([]byte, bool) {
	k := kc.RuntimeDocument(fp)
	if k == nil ||
		k.KeyKind != doc.KeyRuntime ||
		k.Fingerprint != fp ||
		k.Weak != nil ||
		k.Invalid != nil {
		return nil, false
	}
	return ed25519.PublicKey(k.Public), true
}

// IsRecorder reports whether a key, as its bytes, is a runtime key of this account.
func (kc *Keychain) IsRecorder(signer string) bool {
	var fp sign.Fingerprint
	if len(signer) != len(fp) {
		return false
	}
	copy(fp[:], signer)
	if known, ok := kc.recorders.Load(fp); ok {
		return known.(bool)
	}
	_, ok := kc.RuntimePublic(fp)
	kc.recorders.Store(fp, ok)
	return ok
}

// RuntimeDocument returns the document of a runtime key of this account, nil without
// one.
func (kc *Keychain) RuntimeDocument(fp sign.Fingerprint) *doc.Key {
	if kc.Dirs.Keys() == "" {
		return nil
	}
	b, err := openat.ReadRegular(
		filepath.Join(kc.Dirs.Keys(), runtimeDocument(fp)),
		maxKeyDocument,
	)
	if err != nil {
		return nil
	}
	known, ok := kc.runtimeDocuments.Load(fp)
	if ok && bytes.Equal(known.(runtimeBytes).file, b) {
		return known.(runtimeBytes).key
	}
	k := doc.As[*doc.Key](doc.ParseAnyName(b))
	if k != nil {
		k.Path = runtimeDocument(fp)
	}
	kc.runtimeDocuments.Store(fp, runtimeBytes{b, k})
	return k
}

// runtimeBytes is a document and what was read from it. Each record of a run needs it,
// and reading one verifies its signatures.
type runtimeBytes struct {
	file []byte
	key  *doc.Key
}
