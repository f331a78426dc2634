package project

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

func userID() string { return strconv.Itoa(os.Getuid()) }

// KeyFile returns where the private key of a fingerprint lies.
func (p *Project) KeyFile(fp sign.Fingerprint) string {
	return filepath.Join(p.Dirs.Keys(), "key-"+fp.String()+".pem")
}

// Signer returns what signs: --key, RYE_KEY_FILE, or the user's only own key,
// from the ssh-agent when it holds the key, else from its file.
func (p *Project) Signer(ctx context.Context) (sign.Signer, error) {
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
	fp, err := p.OwnKey(which)
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
func (p *Project) SignerOf(ctx context.Context, fp sign.Fingerprint) (sign.Signer, error) {
	if s := p.Env.agentSigner(ctx, fp); s != nil {
		return s, nil
	}
	path := p.KeyFile(fp)
	s, err := sign.OpenFileSigner(path, p.Env.Passphrase("Passphrase of key "+fp.Short()+": "))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.AuthRequired, "opening key %s: the ssh-agent does not have it, and %s does not exist", fp.Short(), path).WithReason("no_key_file")
	}
	if err != nil {
		return nil, err
	}
	return s, nil
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
		_ = a.Close()
		return nil
	}
	return s
}

// OwnKey returns the user's own key with a fingerprint prefix or an owner. The empty
// word selects the only one that does not belong to an agent.
func (p *Project) OwnKey(word string) (sign.Fingerprint, error) {
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
			WithReason("which_key")
	}
	return found[0].Fingerprint, nil
}

// Passphrase returns a function that asks at the terminal, or nil-safe errors
// elsewhere. It never waits when there is no terminal.
func (e *Env) Passphrase(prompt string) func() ([]byte, error) {
	return func() ([]byte, error) {
		if file := e.Getenv(sign.EnvPassphraseFile); file != "" {
			b, err := os.ReadFile(file)
			return []byte(strings.TrimSuffix(string(b), "\n")), err
		}
		if e.Person.Secret == nil {
			return nil, diag.New(diag.AuthRequired, "reading a passphrase: there is no terminal to ask at").
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
