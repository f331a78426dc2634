package keychain

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/userdirs"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// Params are what a keychain needs of the program.
type Params struct {
	Dirs   userdirs.Dirs
	Trust  *trust.Store // nil until it is loaded: only InstallKey and the runtime key work without
	Now    func() time.Time
	Getenv func(string) string
	Path   func(string) string                                    // the absolute path of one that the user typed
	Named  string                                                 // the key that the user chose, "" for none
	Secret func(prompt string) ([]byte, error)                    // asks at the terminal; nil without one
	Note   func(format string, args ...any)                       // prints a line for the user; nil prints none
	Record func(context.Context, space.Name, ...trust.File) error // before a signed document is written
}

// Keychain has the keys of a user: those that sign, the runtime key, and the grants for
// the keys of others.
type Keychain struct {
	Params
	recorders        *sync.Map // sign.Fingerprint to whether it is a runtime key of this account
	runtimeDocuments *sync.Map // sign.Fingerprint to runtimeBytes
}

// New returns a keychain. It reads no file before it is asked.
func New(p Params) *Keychain {
	return &Keychain{Params: p, recorders: &sync.Map{}, runtimeDocuments: &sync.Map{}}
}

// RecordedBy returns the keychain with another function that records signatures.
func (kc *Keychain) RecordedBy(record func(context.Context, space.Name, ...trust.File) error) *Keychain {
	other := *kc
	other.Record = record
	return &other
}

func (kc *Keychain) note(format string, args ...any) {
	if kc.Note != nil {
		kc.Note(format, args...)
	}
}

// KeyFile returns the key file of a fingerprint: the private key, or the path of an ssh
// key's.
func (kc *Keychain) KeyFile(fp sign.Fingerprint) string {
	return filepath.Join(kc.Dirs.Keys(), "key-"+fp.String()+".pem")
}

// KeyPath returns where the private key of a fingerprint is: its file, the file of ssh, or
// sign.InAgent.
func (kc *Keychain) KeyPath(fp sign.Fingerprint) string {
	return cmp.Or(sign.SSHLocation(kc.KeyFile(fp)), kc.KeyFile(fp))
}

// Signer returns the signer of items: --key, RYE_KEY_FILE, the default key, or the
// only own key that may sign.
func (kc *Keychain) Signer(ctx context.Context) (sign.Signer, error) {
	return kc.SignerFor(ctx, "sign")
}

// SignerFor is Signer for another use, such as release or endorse; "" is any. The
// signer asks for a passphrase when it first signs.
func (kc *Keychain) SignerFor(ctx context.Context, use string) (sign.Signer, error) {
	which := kc.Named
	if which == "" && kc.Getenv(sign.EnvKeyFile) != "" {
		s, ok, err := sign.EnvSigner(kc.Getenv)
		if ok || err != nil {
			if err != nil {
				return nil, err
			}
			return kc.unexpired(s)
		}
	}
	if strings.ContainsAny(which, `/\`) || strings.HasSuffix(which, ".pem") {
		s, err := sign.OpenFileSigner(kc.Path(which), kc.Passphrase("Passphrase of "+which+": "))
		if err != nil {
			return nil, err
		}
		return kc.unexpired(s)
	}
	fp, err := kc.chooseKey(which, use)
	if err != nil {
		return nil, err
	}
	if k, _ := kc.Trust.Key(fp); k.GrantOnly {
		return nil, diag.New(diag.Scope, "choosing a key: %s is the grant key of this account, which signs grants and nothing else", fp.Short()).WithReason("grant_key")
	}
	if err := kc.refuseEnded(fp); err != nil { // before a passphrase is asked
		return nil, err
	}
	return kc.SignerOf(ctx, fp)
}

// unexpired returns the signer unless its key is known to have expired.
func (kc *Keychain) unexpired(s sign.Signer) (sign.Signer, error) {
	return s, kc.refuseEnded(sign.FingerprintOf(s.Public()))
}

// refuseEnded refuses a new signature by a key that has expired. The grace of an own
// key is for what it signed before.
func (kc *Keychain) refuseEnded(fp sign.Fingerprint) error {
	k, known := kc.Trust.Key(fp)
	if !known || !Ended(k, kc.Now()) {
		return nil
	}
	return diag.New(
		diag.Expired,
		"signing with key %s (%s): it expired on %s",
		fp.Short(),
		k.Owner,
		k.NotAfter.UTC().Format(time.DateOnly),
	).
		WithReason("own_key")
}

// SignerOf returns the signer of an own key: the ssh-agent's, else the signer of its file.
// The file is opened when the signer first signs, so that a command without anything
// to sign asks for no passphrase.
func (kc *Keychain) SignerOf(ctx context.Context, fp sign.Fingerprint) (sign.Signer, error) {
	if s := kc.agentSigner(ctx, fp); s != nil {
		return s, nil
	}
	path := kc.KeyFile(fp)
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.AuthRequired, "opening key %s: the ssh-agent does not have it, and %s does not exist", fp.Short(), path).WithReason("no_key_file")
	}
	open := func() (sign.Signer, error) {
		return sign.OpenFileSigner(path, kc.askedOften(kc.Passphrase("Passphrase of key "+fp.Short()+": ")))
	}
	if documents := kc.Trust.Documents(fp); len(documents) > 0 {
		return sign.Later(
			documents[0].Public,
			"key "+fp.Short()+" in "+kc.KeyPath(fp),
			open,
		), nil
	}
	return open()
}

// promptInterval is how soon a second question for a passphrase gets a hint.
const promptInterval = time.Hour

// askedOften adds a hint to the second question for a passphrase within
// promptInterval. A file of the state directory has the time of the last question.
func (kc *Keychain) askedOften(ask func() ([]byte, error)) func() ([]byte, error) {
	return func() ([]byte, error) {
		if kc.Secret == nil ||
			kc.Getenv(sign.EnvPassphraseFile) != "" ||
			kc.Dirs.State == "" {
			return ask()
		}
		base := atomicfile.Private(kc.Dirs.State)
		now := kc.Now()
		info, err := os.Stat(filepath.Join(kc.Dirs.State, "last-prompt"))
		if err == nil && now.Sub(info.ModTime()) < promptInterval {
			kc.note("rye: hint: `rye key agent-add` adds the key to the ssh-agent, which then signs without a question")
		}
		b, err := ask()
		if err == nil { // without the file there is only no hint
			_ = base.MkdirAll(".")
			_ = base.Write("last-prompt", nil, 0o600)
		}
		return b, err
	}
}

// agentSigner returns the agent's signer for a key, nil when there is none.
func (kc *Keychain) agentSigner(ctx context.Context, fp sign.Fingerprint) sign.Signer {
	socket := kc.Getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return nil
	}
	a, err := sign.DialAgent(ctx, socket)
	if err != nil {
		return nil
	}
	s, err := a.Signer(ctx, fp)
	if err != nil {
		if diag.CodeOf(err) == diag.AuthFailed { // a broken agent, not one without the key
			kc.note("rye: warning: %v", err)
		}
		_ = a.Close()
		return nil
	}
	return s
}

// OwnKey returns the user's own key with a fingerprint prefix or an owner. The empty
// word selects the default key, else the only one that does not belong to an agent.
func (kc *Keychain) OwnKey(word string) (sign.Fingerprint, error) {
	return kc.chooseKey(word, "")
}

// chooseKey is OwnKey that selects, for the empty word, a key with this use if there is
// one.
func (kc *Keychain) chooseKey(word, use string) (sign.Fingerprint, error) {
	var found, own []trust.KeyInfo
	for _, k := range kc.Trust.Keys() {
		if !k.Own || !k.State.Usable() {
			continue
		}
		if k.GrantOnly && word == "" {
			continue
		}
		if own = append(own, k); word == "" && k.Agent() {
			continue
		}
		if word == "" ||
			strings.HasPrefix(k.Fingerprint.String(), strings.ToLower(word)) ||
			k.Owner == word {
			found = append(found, k)
		}
	}
	if word == "" {
		found = kc.preferred(found, use)
	}
	switch {
	case len(own) == 0:
		return sign.Fingerprint{}, diag.New(diag.AuthRequired, "choosing a key: you have no key of your own").WithReason("no_key")
	case len(found) == 0 && word == "":
		return sign.Fingerprint{}, diag.New(diag.AuthRequired, "choosing a key: you have only an agent's key, which signs below %s", trust.Drafts).WithReason("only_agent_key")
	case len(found) == 0:
		return sign.Fingerprint{}, diag.New(diag.AuthRequired, "choosing a key: none of your %d keys is %q", len(own), word).
			WithReason("no_such_key")
	case len(found) > 1:
		var names []string
		for _, k := range found {
			names = append(names, k.Fingerprint.Short()+" ("+k.Owner+")")
		}
		return sign.Fingerprint{}, diag.New(diag.Usage, "choosing a key: you have %s", strings.Join(names, ", ")).
			WithReason("which_key").WithDetail("first", found[0].Fingerprint.Short())
	}
	return found[0].Fingerprint, nil
}

// preferred narrows a choice without a name: to keys with the use, to keys that have
// not expired, and to the default key, each unless nothing would be left.
func (kc *Keychain) preferred(keys []trust.KeyInfo, use string) []trust.KeyInfo {
	now := kc.Now()
	chosen := kc.DefaultKey()
	for _, fits := range []func(trust.KeyInfo) bool{
		func(k trust.KeyInfo) bool {
			return use == "" ||
				slices.Contains(k.Scope.May(), use)
		},
		func(k trust.KeyInfo) bool { return !Ended(k, now) },
		func(k trust.KeyInfo) bool { return k.Fingerprint == chosen },
	} {
		var some []trust.KeyInfo
		for _, k := range keys {
			if fits(k) {
				some = append(some, k)
			}
		}
		if len(some) > 0 {
			keys = some
		}
	}
	return keys
}

// defaultKeyFile is the name of the file with the fingerprint of the default key, in
// the user's configuration directory.
const defaultKeyFile = "default-key"

// DefaultKey returns the key that the user chose with rye key use, zero if none.
func (kc *Keychain) DefaultKey() sign.Fingerprint {
	if kc.Dirs.Config == "" {
		return sign.Fingerprint{}
	}
	b, err := openat.ReadRegular(filepath.Join(kc.Dirs.Config, defaultKeyFile), 128)
	if err != nil {
		return sign.Fingerprint{}
	}
	fp, _ := sign.ParseFingerprint(strings.TrimSpace(string(b))) // what is not a fingerprint selects nothing
	return fp
}

// SetDefaultKey makes an own key the default and returns the file that states it.
func (kc *Keychain) SetDefaultKey(fp sign.Fingerprint) (string, error) {
	if kc.Dirs.Config == "" {
		return "", diag.New(diag.FileSystemError, "choosing a default key: the environment names no home directory").WithReason("no_state")
	}
	base := atomicfile.Private(kc.Dirs.Config)
	err := base.MkdirAll(".")
	if err == nil {
		err = base.Write(defaultKeyFile, []byte(fp.String()+"\n"), 0o600)
	}
	if err != nil {
		return "", diag.Doing("choosing a default key", err)
	}
	return filepath.Join(kc.Dirs.Config, defaultKeyFile), nil
}

// Passphrase returns a function that reads a passphrase from the file that the
// environment names, or asks at the terminal. It fails without either.
func (p *Params) Passphrase(prompt string) func() ([]byte, error) {
	return func() ([]byte, error) {
		if file := p.Getenv(sign.EnvPassphraseFile); file != "" {
			b, err := os.ReadFile(file)
			return []byte(strings.TrimSuffix(string(b), "\n")), err
		}
		if p.Secret == nil {
			return nil, diag.New(diag.AuthRequired, "reading a passphrase: this process has no terminal to ask at").
				WithReason("no_terminal").WithDetail("variable", sign.EnvPassphraseFile)
		}
		return p.Secret(prompt)
	}
}

// Span reads a length of time: Go's units, and d, w, y for days, weeks, years.
func Span(text string) (time.Duration, error) {
	units := map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "y": 365 * 24 * time.Hour}
	for unit, length := range units {
		n, err := strconv.Atoi(strings.TrimSuffix(text, unit))
		if err == nil &&
			strings.HasSuffix(text, unit) &&
			n > 0 &&
			time.Duration(n) <= math.MaxInt64/length {
			return time.Duration(n) * length, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, diag.New(diag.Usage, "reading length of time %q: write for example 90d, 12w or 1y", text)
	}
	return d, nil
}

// Ended reports whether the validity of a key is over, its owner's grace included.
func Ended(k trust.KeyInfo, now time.Time) bool {
	return !k.NotAfter.IsZero() && now.After(k.NotAfter)
}
