package project

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
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

func userID() string { return strconv.Itoa(os.Getuid()) }

// KeyFile returns the key file of a fingerprint: the private key, or where that of an
// ssh key is.
func (p *Project) KeyFile(fp sign.Fingerprint) string {
	return filepath.Join(p.Dirs.Keys(), "key-"+fp.String()+".pem")
}

// KeyPath returns where the private key of a fingerprint is: its file, that of ssh, or
// sign.InAgent.
func (p *Project) KeyPath(fp sign.Fingerprint) string {
	return cmp.Or(sign.SSHLocation(p.KeyFile(fp)), p.KeyFile(fp))
}

// Signer returns the signer of items: --key, RYE_KEY_FILE, the default key, or the
// only own key that may sign.
func (p *Project) Signer(ctx context.Context) (sign.Signer, error) { return p.SignerFor(ctx, "sign") }

// SignerFor is Signer for another use, such as release or endorse; "" is any. The
// signer asks for a passphrase when it first signs.
func (p *Project) SignerFor(ctx context.Context, use string) (sign.Signer, error) {
	which := p.Env.Key
	if which == "" && p.Env.Getenv(sign.EnvKeyFile) != "" {
		if s, ok, err := sign.EnvSigner(p.Env.Getenv); ok || err != nil {
			if err != nil {
				return nil, err
			}
			return p.unexpired(s)
		}
	}
	if strings.ContainsAny(which, `/\`) || strings.HasSuffix(which, ".pem") {
		s, err := sign.OpenFileSigner(p.Env.path(which), p.Env.Passphrase("Passphrase of "+which+": "))
		if err != nil {
			return nil, err
		}
		return p.unexpired(s)
	}
	fp, err := p.chooseKey(which, use)
	if err != nil {
		return nil, err
	}
	if k, _ := p.Trust.Key(fp); k.GrantOnly {
		return nil, diag.New(diag.Scope, "choosing a key: %s is the grant key of this account, which signs grants and nothing else", fp.Short()).WithReason("grant_key")
	}
	if err := p.refuseEnded(fp); err != nil { // before a passphrase is asked
		return nil, err
	}
	return p.SignerOf(ctx, fp)
}

// unexpired returns the signer unless its key is known to have expired.
func (p *Project) unexpired(s sign.Signer) (sign.Signer, error) {
	return s, p.refuseEnded(sign.FingerprintOf(s.Public()))
}

// refuseEnded refuses a new signature by a key that has expired. The grace of an own
// key is for what it signed before.
func (p *Project) refuseEnded(fp sign.Fingerprint) error {
	k, known := p.Trust.Key(fp)
	if !known || !ended(k, p.Env.Now()) {
		return nil
	}
	return diag.New(diag.Expired, "signing with key %s (%s): it expired on %s", fp.Short(), k.Owner, k.NotAfter.UTC().Format(time.DateOnly)).
		WithReason("own_key")
}

// SignerOf returns the signer of an own key: the ssh-agent's, else that of its file.
// The file is opened when the signer first signs, so that a command without anything
// to sign asks for no passphrase.
func (p *Project) SignerOf(ctx context.Context, fp sign.Fingerprint) (sign.Signer, error) {
	if s := p.Env.agentSigner(ctx, fp); s != nil {
		return s, nil
	}
	path := p.KeyFile(fp)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.AuthRequired, "opening key %s: the ssh-agent does not have it, and %s does not exist", fp.Short(), path).WithReason("no_key_file")
	}
	open := func() (sign.Signer, error) {
		return sign.OpenFileSigner(path, p.askedOften(p.Env.Passphrase("Passphrase of key "+fp.Short()+": ")))
	}
	if documents := p.Trust.Documents(fp); len(documents) > 0 {
		return sign.Later(documents[0].Public, "key "+fp.Short()+" in "+p.KeyPath(fp), open), nil
	}
	return open()
}

// promptInterval is how soon a second question for a passphrase gets a hint.
const promptInterval = time.Hour

// askedOften adds a hint to the second question for a passphrase within
// promptInterval. The time of a file of the state directory is that of the last one.
func (p *Project) askedOften(ask func() ([]byte, error)) func() ([]byte, error) {
	return func() ([]byte, error) {
		if p.Env.Person.Secret == nil || p.Env.Getenv(sign.EnvPassphraseFile) != "" || p.Dirs.State == "" {
			return ask()
		}
		base, now := atomicfile.Private(p.Dirs.State), p.Env.Now()
		if info, err := os.Stat(filepath.Join(p.Dirs.State, "last-prompt")); err == nil && now.Sub(info.ModTime()) < promptInterval {
			p.Env.Person.note("rye: hint: `rye key agent-add` adds the key to the ssh-agent, which then signs without a question")
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
func (e *Env) agentSigner(ctx context.Context, fp sign.Fingerprint) sign.Signer {
	socket := e.Getenv("SSH_AUTH_SOCK")
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
			e.Person.note("rye: warning: %v", err)
		}
		_ = a.Close()
		return nil
	}
	return s
}

// OwnKey returns the user's own key with a fingerprint prefix or an owner. The empty
// word selects the default key, else the only one that does not belong to an agent.
func (p *Project) OwnKey(word string) (sign.Fingerprint, error) { return p.chooseKey(word, "") }

// chooseKey is OwnKey that selects, for the empty word, a key with this use if there is
// one.
func (p *Project) chooseKey(word, use string) (sign.Fingerprint, error) {
	var found, own []trust.KeyInfo
	for _, k := range p.Trust.Keys() {
		if !k.Own || !k.State.Usable() {
			continue
		}
		if k.GrantOnly && word == "" {
			continue
		}
		if own = append(own, k); word == "" && k.Agent() {
			continue
		}
		if word == "" || strings.HasPrefix(k.Fingerprint.String(), strings.ToLower(word)) || k.Owner == word {
			found = append(found, k)
		}
	}
	if word == "" {
		found = p.preferred(found, use)
	}
	switch {
	case len(own) == 0:
		return sign.Fingerprint{}, diag.New(diag.AuthRequired, "choosing a key: you have no key of your own").WithReason("no_key")
	case len(found) == 0 && word == "":
		return sign.Fingerprint{}, diag.New(diag.AuthRequired, "choosing a key: you have only an agent's key, which signs below %s", trust.Drafts).WithReason("only_agent_key")
	case len(found) == 0:
		return sign.Fingerprint{}, diag.New(diag.AuthRequired, "choosing a key: none of your %d keys is %q", len(own), word).WithReason("no_such_key")
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
func (p *Project) preferred(keys []trust.KeyInfo, use string) []trust.KeyInfo {
	now, chosen := p.Env.Now(), p.DefaultKey()
	for _, fits := range []func(trust.KeyInfo) bool{
		func(k trust.KeyInfo) bool { return use == "" || slices.Contains(k.Scope.May(), use) },
		func(k trust.KeyInfo) bool { return !ended(k, now) },
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
func (p *Project) DefaultKey() sign.Fingerprint {
	if p.Dirs.Config == "" {
		return sign.Fingerprint{}
	}
	b, err := openat.ReadRegular(filepath.Join(p.Dirs.Config, defaultKeyFile), 128)
	if err != nil {
		return sign.Fingerprint{}
	}
	fp, _ := sign.ParseFingerprint(strings.TrimSpace(string(b))) // what is not a fingerprint selects nothing
	return fp
}

// SetDefaultKey makes an own key the default and returns the file that states it.
func (p *Project) SetDefaultKey(fp sign.Fingerprint) (string, error) {
	if p.Dirs.Config == "" {
		return "", diag.New(diag.FileSystemError, "choosing a default key: the environment names no home directory").WithReason("no_state")
	}
	base := atomicfile.Private(p.Dirs.Config)
	err := base.MkdirAll(".")
	if err == nil {
		err = base.Write(defaultKeyFile, []byte(fp.String()+"\n"), 0o600)
	}
	if err != nil {
		return "", diag.Doing("choosing a default key", err)
	}
	return filepath.Join(p.Dirs.Config, defaultKeyFile), nil
}

// Passphrase returns a function that asks at the terminal, or nil-safe errors
// elsewhere. It never waits without a terminal.
func (e *Env) Passphrase(prompt string) func() ([]byte, error) {
	return func() ([]byte, error) {
		if file := e.Getenv(sign.EnvPassphraseFile); file != "" {
			b, err := os.ReadFile(file)
			return []byte(strings.TrimSuffix(string(b), "\n")), err
		}
		if e.Person.Secret == nil {
			return nil, diag.New(diag.AuthRequired, "reading a passphrase: this process has no terminal to ask at").
				WithReason("no_terminal").WithDetail("variable", sign.EnvPassphraseFile)
		}
		return e.Person.Secret(prompt)
	}
}

// Span reads a length of time: Go's units, and d, w, y for days, weeks, years.
func Span(text string) (time.Duration, error) {
	units := map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "y": 365 * 24 * time.Hour}
	for unit, length := range units {
		if n, err := strconv.Atoi(strings.TrimSuffix(text, unit)); err == nil && strings.HasSuffix(text, unit) && n > 0 && time.Duration(n) <= math.MaxInt64/length {
			return time.Duration(n) * length, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, diag.New(diag.Usage, "reading length of time %q: write for example 90d, 12w or 1y", text)
	}
	return d, nil
}

// ended reports whether the validity of a key is over, its owner's grace included.
func ended(k trust.KeyInfo, now time.Time) bool { return !k.NotAfter.IsZero() && now.After(k.NotAfter) }
