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

// keyFile returns where the private key of a fingerprint lies.
func (p *Project) KeyFile(fp sign.Fingerprint) string {
	return filepath.Join(p.Dirs.Keys(), "key-"+fp.String()+".pem")
}

// signer returns what signs: --key, RYE_KEY_FILE, or the user's only own key,
// from the ssh-agent when it holds the key, else from its file.
func (p *Project) Signer(ctx context.Context) (sign.Signer, error) {
	which := p.Env.Key
	if which == "" && p.Env.Getenv(sign.EnvKeyFile) != "" {
		if s, ok, err := sign.EnvSigner(p.Env.Getenv); ok || err != nil {
			return s, err
		}
	}
	if strings.ContainsAny(which, `/\`) || strings.HasSuffix(which, ".pem") {
		return sign.OpenFileSigner(p.Env.path(which), p.Env.Passphrase("Passphrase of "+which+": "))
	}
	fp, err := p.OwnKey(which)
	if err != nil {
		return nil, err
	}
	return p.SignerOf(ctx, fp)
}

func (p *Project) SignerOf(ctx context.Context, fp sign.Fingerprint) (sign.Signer, error) {
	if s := p.Env.agentSigner(ctx, fp); s != nil {
		return s, nil
	}
	path := p.KeyFile(fp)
	s, err := sign.OpenFileSigner(path, p.Env.Passphrase("Passphrase of key "+fp.Short()+": "))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.AuthRequired, "opening key %s: neither the ssh-agent nor %s holds it", fp.Short(), path).
			WithHint("name the key's file with --key FILE")
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

// ownKey picks one of the user's own keys by fingerprint prefix or owner; the
// empty word picks the only one that is no agent's.
func (p *Project) OwnKey(word string) (sign.Fingerprint, error) {
	var found, own []trust.KeyInfo
	for _, k := range p.Trust.Keys() {
		if !k.Own || !k.State.Usable() {
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
		return sign.Fingerprint{}, diag.New(diag.AuthRequired, "choosing a key: you have no key of your own").
			WithHint("rye key new makes one; in CI set %s", sign.EnvKeyFile)
	case len(found) == 0 && word == "":
		return sign.Fingerprint{}, diag.New(diag.AuthRequired, "choosing a key: you have none but an agent's, which signs below %s only", trust.Drafts).
			WithHint("rye key new makes one of yours; --key names the agent's")
	case len(found) == 0:
		return sign.Fingerprint{}, diag.New(diag.AuthRequired, "choosing a key: none of your %d keys is %q", len(own), word).
			WithHint("rye key list shows them")
	case len(found) > 1:
		var names []string
		for _, k := range found {
			names = append(names, k.Fingerprint.Short()+" ("+k.Owner+")")
		}
		return sign.Fingerprint{}, diag.New(diag.Usage, "choosing a key: you have %s", strings.Join(names, ", ")).
			WithHint("name one with --key FINGERPRINT")
	}
	return found[0].Fingerprint, nil
}

// passphrase returns a function that asks at the terminal, or nil-safe errors
// elsewhere. It never waits when there is no terminal.
func (e *Env) Passphrase(prompt string) func() ([]byte, error) {
	return func() ([]byte, error) {
		if file := e.Getenv(sign.EnvPassphraseFile); file != "" {
			b, err := os.ReadFile(file)
			return []byte(strings.TrimSuffix(string(b), "\n")), err
		}
		if e.Person.Secret == nil {
			return nil, diag.New(diag.AuthRequired, "reading a passphrase: there is no terminal to ask at").
				WithHint("load the key with rye key agent-add, or set %s", sign.EnvPassphraseFile)
		}
		return e.Person.Secret(prompt)
	}
}

// span reads a length of time: Go's units, and d, w, y for days, weeks, years.
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
