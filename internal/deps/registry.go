package deps

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/registry/client"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// Registries are the registries that an opened project reads, with the states of their
// logs that its lock records.
type Registries struct {
	*client.Client
	rules    packages.Rules
	now      func() time.Time
	remember func(texts [][]byte) (*trust.Store, error)

	mu       sync.Mutex
	expected map[string][]client.Known
}

// newRegistries returns the registries for the project file in a directory, which may pin
// log keys too.
func newRegistries(p *project.Project, files string, offline bool) *Registries {
	m := manifestIn(p, files)
	r := &Registries{
		expected: map[string][]client.Known{},
		rules:    project.WithManifest(p.Rules, m),
		now:      p.Env.Now,
		remember: func(texts [][]byte) (*trust.Store, error) {
			return rememberRevocations(p, texts)
		},
	}
	r.Client = client.New(client.Params{
		State:   RegistryState(p),
		Offline: offline,
		Proxy:   Proxy(p, "https://registry.example/"),
		Now:     p.Env.Now,
		Known:   r.known,
		Pin: func(host string) (*client.Pin, error) {
			key := ""
			if m != nil {
				key = m.Registries[host]
			}
			return registryPin(p, host, key)
		},
	})
	return r
}

// RegistriesOf returns the registries of the opened project, or of the user outside of one.
func RegistriesOf(p *project.Project) *Registries {
	dir := p.Env.Base
	if p.Spaces.ProjectDir != "" {
		dir = p.Spaces.ProjectDir
	}
	r := newRegistries(p, dir, p.Env.Offline)
	if p.Lock != nil && p.Lock.Lock != nil {
		r.Expect(p.Lock.Lock.Registries)
	}
	return r
}

// RegistryState is the directory with what this account knows of registries.
func RegistryState(p *project.Project) string {
	return filepath.Join(p.Dirs.State, "registry")
}

// registryPin returns the pin of the user, narrowed by the pin of the project file: another
// key is refused. Without a pin of the user the pin of the project is used.
func registryPin(p *project.Project, host, key string) (*client.Pin, error) {
	d, err := p.Trust.Registry(host)
	switch {
	case err != nil:
		return nil, err
	case d == nil && key == "":
		return nil, nil
	case d == nil:
		return &client.Pin{Host: host, Key: key, From: lock.ProjectFileName}, nil
	case key != "" && key != d.LogKey:
		return nil, diag.New(diag.KeyUnknown, "opening registry %s: %s pins another log key than %s", host, lock.ProjectFileName, d.Path).
			WithReason("registry_pins").
			WithDetail("host", host).
			WithDetail("expected", d.LogKey).
			WithDetail("found", key)
	}
	return client.PinOf(d), nil
}

// Expect implements packages.Registries.
func (r *Registries) Expect(list []lock.Registry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range knownIn(list, lock.LockFile) {
		r.expected[k.Host] = append(r.expected[k.Host], k)
	}
}

// knownIn returns the states that a lock records.
func knownIn(list []lock.Registry, from string) (out []client.Known) {
	for _, x := range list {
		t, err := log.ParseTree(x.Checkpoint)
		if err != nil {
			continue // the parser of the lock refuses it
		}
		out = append(out, client.Known{
			Host: x.Host,
			Key:  x.Key,
			Tree: t,
			From: from,
		})
	}
	return out
}

// Gossip implements packages.Registries.
func (r *Registries) Gossip(ctx context.Context, list []lock.Registry, from string) error {
	var errs []error
	for _, k := range knownIn(list, from) {
		errs = append(errs, r.Client.Gossip(ctx, k))
	}
	return errors.Join(errs...)
}

func (r *Registries) known(host string) []client.Known {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.expected[host]
}

// Settle implements packages.Registries.
func (r *Registries) Settle(ctx context.Context, host string) (lock.Registry, error) {
	h, err := r.Host(ctx, host)
	if err != nil {
		return lock.Registry{}, err
	}
	for _, k := range r.known(host) { // also what was expected since the host was opened
		if err := h.Check(ctx, k); err != nil {
			return lock.Registry{}, err
		}
	}
	if err := r.checkAge(h); err != nil {
		return lock.Registry{}, err
	}
	return lock.Registry{Host: host, Key: h.Pin.Key, Checkpoint: h.Checkpoint().Tree.String()}, nil
}

// Revocations implements packages.Registries.
func (r *Registries) Revocations(ctx context.Context) (*trust.Store, error) {
	var texts [][]byte
	for _, h := range r.Hosts() {
		list, err := h.Revocations(ctx)
		if err != nil {
			return nil, err
		}
		for _, x := range list {
			texts = append(texts, x.Text)
		}
	}
	if len(texts) == 0 {
		return nil, nil
	}
	return r.remember(texts)
}

// rememberRevocations adds revocations to those that this account saw, and returns the
// trust documents with them, nil if this process knew all of them. Another process may have
// remembered them since this one read its trust documents.
func rememberRevocations(p *project.Project, texts [][]byte) (*trust.Store, error) {
	changed, note, err := trust.RememberRevocations(p.TrustParams, p.Trust, texts)
	if note != "" {
		p.Env.Person.Notef("%s", note)
	}
	if err != nil || !changed {
		return nil, err
	}
	p.Trust, _ = trust.Load(p.TrustParams) // opening reports the documents that cannot be used
	keys := *p.Keys                        // a copy of the project keeps its keychain
	keys.Trust = p.Trust
	p.Keys = &keys
	return p.Trust, nil
}

// maxCheckpointAge is the age from which a checkpoint is warned of.
const maxCheckpointAge = 7 * 24 * time.Hour

// checkAge refuses a checkpoint that is older than a rule allows. Only witnesses prove its
// age.
func (r *Registries) checkAge(h *client.Host) error {
	age, proven := h.Age()
	for _, f := range r.rules {
		limit := f.Policy.MaxCheckpointAge
		if limit == 0 {
			continue
		}
		why := ""
		switch {
		case !proven:
			why = "no witness states when it was made"
		case age > limit:
			why = "its newest cosignature is " + age.Round(time.Minute).String() + " old"
		}
		if why != "" {
			return diag.New(diag.Stale, "reading the checkpoint of %s: %s, and policy.max-checkpoint-age of %s is %s", h.Name, why, f.Path, limit).
				WithReason("checkpoint_age").
				WithDetail("host", h.Name).
				WithDetail("max_age", limit.String())
		}
	}
	return nil
}

// Remembered implements packages.Registries.
func (r *Registries) Remembered(b lock.Bundle) (state, reason string) {
	host, id, err := wire.ParseFull(b.ID.String())
	if err != nil {
		return "", ""
	}
	l := r.Client.Remembered(host, id, b.Version)
	if l == nil {
		return "", ""
	}
	return l.State, l.Reason
}

// Remarks implements packages.Registries.
func (r *Registries) Remarks(host string) []string {
	var out []string
	pin, err := r.Pin(host)
	switch {
	case err != nil:
		out = append(out, err.Error())
	case pin == nil:
		out = append(out, "registry "+host+" is not pinned on this computer, so its log is not compared")
	case pin.Quorum == 0:
		out = append(out, "registry "+host+": no witness is demanded, so a second history is seen only when locks meet")
	}
	at := r.LastSigned(host)
	if !at.IsZero() && r.now().Sub(at) > maxCheckpointAge {
		out = append(out, "registry "+host+": the newest cosignature of its checkpoint is from "+at.Format(time.DateOnly)+"; newer versions may be withheld")
	}
	return out
}

// defaultRegistryFile is the name of the file with the host of the default registry, in
// the user's configuration.
const defaultRegistryFile = "default-registry"

// DefaultRegistry returns the host that registry:NS/NAME means, "" if the user chose none.
func DefaultRegistry(p *project.Project) string {
	return defaultRegistry(p.Env, p.Dirs.Config)
}

func defaultRegistry(e *project.Env, config string) string {
	b, err := openat.ReadRegular(filepath.Join(config, defaultRegistryFile), 512)
	host := strings.TrimSpace(string(b))
	if err != nil || wire.CheckHost(host) != nil {
		return ""
	}
	return host
}

// UseRegistry makes a host the default registry. "" removes the choice.
func UseRegistry(p *project.Project, host string) (string, error) {
	base := atomicfile.Private(p.Dirs.Config)
	if host == "" {
		return base.Path(defaultRegistryFile), base.Remove(defaultRegistryFile)
	}
	if err := NeedPin(p, host); err != nil {
		return "", err
	}
	return base.Path(defaultRegistryFile), base.Write(defaultRegistryFile, []byte(host+"\n"), 0o600)
}

func NeedPin(p *project.Project, host string) error {
	if err := wire.CheckHost(host); err != nil {
		return err
	}
	d, err := p.Trust.Registry(host)
	if err == nil && d == nil {
		err = diag.New(diag.KeyUnknown, "looking for registry %s: its log key is not pinned on this computer", host).
			WithReason("registry_unpinned").
			WithDetail("host", host)
	}
	return err
}

// FullRegistryID returns an argument with the default registry filled in: registry:NS/NAME
// and ITEM@registry:NS/NAME, with an optional version.
func FullRegistryID(e *project.Env, arg string) (string, error) {
	before, rest, ok := strings.Cut(arg, "registry:")
	if !ok || before != "" && !strings.HasSuffix(before, "@") {
		return arg, nil
	}
	name, version, _ := strings.Cut(rest, "@")
	parts := strings.Split(name, "/")
	n := len(parts)
	if n != 2 && !(n == 3 && isMajor(parts[2])) ||
		strings.Contains(parts[0], ":") {
		return arg, nil
	}
	host := defaultRegistry(e, e.UserDirs().Config)
	if host == "" {
		return "", diag.New(diag.Usage, "reading %q: it names no registry, and you have no default one", arg).
			WithReason("registry_default").
			WithDetail("name", name)
	}
	out := before + "registry:" + host + "/" + name
	if version != "" {
		out += "@" + version
	}
	return out, nil
}

func isMajor(s string) bool {
	return len(s) > 1 &&
		s[0] == 'v' &&
		strings.Trim(s[1:], "0123456789") == ""
}

// OfferedRegistry is a registry before it is pinned.
type OfferedRegistry struct {
	Host string `json:"host"`
	Key  string `json:"key"`
}

// OfferRegistry asks a registry for its log key. Nothing proves the answer: the user
// compares it, or names the key.
func OfferRegistry(ctx context.Context, p *project.Project, host string, addresses []string) (OfferedRegistry, error) {
	c := client.New(client.Params{
		State:   RegistryState(p),
		Offline: p.Env.Offline,
		Proxy:   Proxy(p, "https://"+host),
		Now:     p.Env.Now,
		Pin: func(string) (*client.Pin, error) {
			return &client.Pin{Host: host, Addresses: addresses, Private: true}, nil
		},
	})
	h, err := c.Bare(host)
	if err != nil {
		return OfferedRegistry{}, err
	}
	d, err := h.Discover(ctx)
	if err != nil {
		return OfferedRegistry{}, err
	}
	return OfferedRegistry{Host: host, Key: d.Log.Key}, log.CheckKey(d.Log.Key)
}

// PinRegistry writes the pin of a registry into the user's trust directory, signed by a
// key of the user, after reading a checkpoint with it. It returns the path.
func PinRegistry(ctx context.Context, p *project.Project, params doc.RegistryParams) (string, error) {
	if err := log.CheckKey(params.LogKey); err != nil {
		return "", diag.New(diag.Usage, "adding registry %s: %w", params.Host, err)
	}
	for _, w := range params.Witnesses {
		if err := log.CheckWitness(w); err != nil {
			return "", diag.New(diag.Usage, "adding registry %s: %w", params.Host, err)
		}
	}
	if was, err := p.Trust.Registry(params.Host); err != nil {
		return "", err
	} else if was != nil && was.LogKey != params.LogKey {
		return "", diag.New(diag.KeyUnknown, "adding registry %s: another log key is pinned in %s, and only a rotation that it signed replaces it", params.Host, was.Path).
			WithReason("registry_pinned").
			WithDetail("host", params.Host).
			WithDetail("expected", was.LogKey).
			WithDetail("found", params.LogKey)
	}
	c := client.New(client.Params{
		State:   RegistryState(p),
		Offline: p.Env.Offline,
		Proxy:   Proxy(p, "https://"+params.Host),
		Now:     p.Env.Now,
		Pin: func(string) (*client.Pin, error) {
			return &client.Pin{
				Host:      params.Host,
				Key:       params.LogKey,
				Addresses: params.Addresses,
				Witnesses: params.Witnesses,
				Quorum:    params.Quorum,
				From:      "the command line",
				Private:   true,
			}, nil
		},
	})
	if _, err := c.Host(ctx, params.Host); err != nil {
		return "", err
	}
	signer, err := p.Keys.GrantSigner(ctx, nil)
	if err != nil {
		return "", err
	}
	name, b, err := doc.NewRegistry(ctx, params, signer, p.Env.Now())
	if err != nil {
		return "", err
	}
	err = p.Recorder().Documents(ctx, space.User, trust.File{Name: name, Data: b})
	if err != nil {
		return "", err
	}
	return trust.AddDocument(p.Dirs.Trust(), name, b)
}

// UnpinRegistry removes the user's pin of a registry and what the account knows of its log.
func UnpinRegistry(p *project.Project, host string) error {
	if err := NeedPin(p, host); err != nil {
		return err
	}
	base := atomicfile.Private(p.Dirs.Trust())
	if err := base.Remove(doc.RegistryFile(host)); err != nil {
		return diag.New(diag.FileSystemError, "removing the pin of registry %s: %w", host, err)
	}
	if DefaultRegistry(p) == host {
		if _, err := UseRegistry(p, ""); err != nil {
			return err
		}
	}
	return client.New(client.Params{State: RegistryState(p)}).Forget(host)
}

// PinnedRegistry is one pin for lists.
type PinnedRegistry struct {
	Host      string   `json:"host"`
	Key       string   `json:"key"`
	Addresses []string `json:"addresses,omitempty"`
	Witnesses int      `json:"witnesses"`
	Quorum    int      `json:"quorum"`
	Default   bool     `json:"default,omitempty"`
	Evidence  []string `json:"evidence,omitempty"` // directories; the registry is not used
	From      string   `json:"from"`
}

// PinnedRegistries lists the pins of this account.
func PinnedRegistries(p *project.Project) ([]PinnedRegistry, error) {
	c := client.New(client.Params{State: RegistryState(p)})
	out := []PinnedRegistry{}
	for _, host := range p.Trust.Registries() {
		d, err := p.Trust.Registry(host)
		if err != nil {
			return nil, err
		}
		out = append(out, PinnedRegistry{
			Host:      host,
			Key:       d.LogKey,
			Addresses: d.Addresses,
			Witnesses: len(d.Witnesses),
			Quorum:    d.Quorum,
			Default:   DefaultRegistry(p) == host,
			Evidence:  c.Evidence(host),
			From:      d.Path,
		})
	}
	return out, nil
}

// ForgiveRegistry permits operations with a registry again: see client.Forgive.
func ForgiveRegistry(p *project.Project, host, dir string) (string, error) {
	return client.New(client.Params{State: RegistryState(p), Now: p.Env.Now}).Forgive(host, dir)
}
