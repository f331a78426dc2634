package publish

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/client"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// bindingsName is the file, in the state of a registry, with the namespaces that this
// account bound.
const bindingsName = "bindings.json"

// RegistryBinding is a namespace that a key of this account was bound to.
type RegistryBinding struct {
	Host      string    `json:"host"`
	Namespace string    `json:"namespace"`
	Key       string    `json:"key"`
	Method    string    `json:"method"`
	Log       int64     `json:"log"`
	Time      time.Time `json:"time"`
}

// RegistryProof is what proves a namespace.
type RegistryProof struct {
	Method string // wire.MethodDNS, wire.MethodWellKnown or wire.MethodOIDC
	Token  string // of OIDC
}

// BindingKey returns the key that rye registry login binds, with the texts that prove a
// namespace by DNS and by a file.
func BindingKey(ctx context.Context, p *project.Project) (key, txt, wellKnown string, err error) {
	signer, err := p.Keys.SignerFor(ctx, "release")
	if err != nil {
		return "", "", "", err
	}
	fp := sign.FingerprintOf(signer.Public())
	b, err := json.Marshal(wire.WellKnown{V: 1, Keys: []string{wire.KeyText(fp)}})
	return wire.KeyText(fp), wire.TXTRecord(fp), string(b), err
}

// DeviceToken returns an ID token for a namespace ALIAS~OWNER, which a person permits at the
// issuer of the registry.
func DeviceToken(
	ctx context.Context,
	p *project.Project,
	host, ns string,
	show func(client.DeviceCode),
) (string, error) {
	if err := deps.NeedPin(p, host); err != nil {
		return "", err
	}
	h, err := deps.RegistriesOf(p).Host(ctx, host)
	if err != nil {
		return "", err
	}
	return h.DeviceToken(ctx, ns, show)
}

// AddNamespaceKey binds the key in a document to a namespace, by a key of it.
func AddNamespaceKey(ctx context.Context, p *project.Project, host, ns, file string) (*RegistryChange, error) {
	text, err := openat.ReadRegular(p.Env.Path(file), doc.MaxDocument)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading the key document: %w", err)
	}
	d, found := doc.ParseAnyName(text)
	k := doc.As[*doc.Key](d, found)
	if k == nil {
		return nil, diag.New(diag.ValidationFailed, "reading %s: it is not a key document, which rye key export writes", file)
	}
	return changeKey(ctx, p, host, ns, wire.ActionKeyAdd, wire.KeyChange{V: 1, Key: wire.KeyText(k.Fingerprint), Document: string(text)})
}

// RemoveNamespaceKey removes a key from a namespace, by a key of it.
func RemoveNamespaceKey(ctx context.Context, p *project.Project, host, ns, key string) (*RegistryChange, error) {
	if !strings.HasPrefix(key, "ed25519:") {
		key = "ed25519:" + key
	}
	if _, err := wire.ParseKey(key); err != nil {
		return nil, diag.New(diag.Usage, "reading the key: %w", err)
	}
	return changeKey(
		ctx,
		p,
		host,
		ns,
		wire.ActionKeyRemove,
		wire.KeyChange{V: 1, Key: key},
	)
}

func changeKey(
	ctx context.Context,
	p *project.Project,
	host, ns, action string,
	change wire.KeyChange,
) (*RegistryChange, error) {
	if err := wire.CheckNamespace(ns); err != nil {
		return nil, err
	}
	body := wire.RenderBody(&change)
	return changeRegistry(
		ctx,
		p,
		wire.Statement{
			Registry: host,
			Action:   action,
			ID:       ns,
			Body:     item.DigestOf(body).String(),
		},
		body,
	)
}

// BindNamespace proves a namespace to a registry and binds the user's release key to it.
func BindNamespace(
	ctx context.Context,
	p *project.Project,
	host, ns string,
	proof RegistryProof,
) (*RegistryBinding, error) {
	if err := wire.CheckNamespace(ns); err != nil {
		return nil, err
	}
	signer, err := p.Keys.SignerFor(ctx, "release")
	if err != nil {
		return nil, err
	}
	fp := sign.FingerprintOf(signer.Public())
	documents := p.Trust.Documents(fp)
	if len(documents) == 0 {
		return nil, diag.New(diag.KeyUnknown, "binding namespace %s: there is no key document of %s", ns, fp.Short()).WithReason("registry_key_document")
	}
	body := wire.RenderBody(&wire.Binding{
		V:        1,
		Method:   proof.Method,
		Document: string(documents[0].Data()),
		Token:    proof.Token,
	})
	c, err := changeRegistry(
		ctx,
		p,
		wire.Statement{
			Registry: host,
			Action:   wire.ActionBind,
			ID:       ns,
			Body:     item.DigestOf(body).String(),
		},
		body,
	)
	if err != nil {
		return nil, err
	}
	out := &RegistryBinding{
		Host:      host,
		Namespace: ns,
		Key:       wire.KeyText(fp),
		Method:    proof.Method,
		Log:       c.Log,
		Time:      p.Env.Now().UTC().Truncate(time.Second),
	}
	all := slices.DeleteFunc(RegistryBindings(p, host), func(b RegistryBinding) bool {
		return b.Namespace == ns
	})
	return out, writeBindings(p, host, append(all, *out))
}

func bindingsBase(p *project.Project, host string) atomicfile.Base {
	return atomicfile.Private(path.Join(deps.RegistryState(p), client.DirName(host)))
}

func writeBindings(p *project.Project, host string, list []RegistryBinding) error {
	b, err := json.MarshalIndent(list, "", "\t")
	if err == nil {
		err = bindingsBase(p, host).Write(bindingsName, append(b, '\n'), 0o600)
	}
	if err != nil {
		return diag.New(diag.FileSystemError, "keeping the namespaces of registry %s: %w", host, err)
	}
	return nil
}

// RegistryBindings returns the namespaces that this account bound at a host.
func RegistryBindings(p *project.Project, host string) []RegistryBinding {
	b, err := openat.ReadRegular(bindingsBase(p, host).Path(bindingsName), 1<<20)
	var out []RegistryBinding
	if err != nil || json.Unmarshal(b, &out) != nil {
		return nil // it only remembers what the registry knows
	}
	return out
}

// ForgetBindings forgets the namespaces that this account bound at a host. The registry
// keeps the bindings.
func ForgetBindings(p *project.Project, host string) error {
	if err := deps.NeedPin(p, host); err != nil {
		return err
	}
	return writeBindings(p, host, []RegistryBinding{})
}

// RegistryKeys is a namespace with its keys, as the log of a registry proves them.
type RegistryKeys struct {
	Host      string          `json:"host"`
	Namespace string          `json:"namespace"`
	Keys      []wire.BoundKey `json:"keys"`
}

// NamespaceKeys returns the keys of a namespace whose log entries are proven.
func NamespaceKeys(ctx context.Context, p *project.Project, host, ns string) (*RegistryKeys, error) {
	h, err := deps.RegistriesOf(p).Host(ctx, host)
	if err != nil {
		return nil, err
	}
	n, err := h.Namespace(ctx, ns)
	if err != nil {
		return nil, err
	}
	for _, k := range n.Keys {
		e, err := h.Entry(ctx, k.Log)
		if err != nil {
			return nil, err
		}
		if e.Namespace != ns || e.Key != k.Key {
			return nil, diag.New(diag.LogProof, "reading the keys of %s at registry %s: log entry %d is not about %s", ns, host, k.Log, k.Key).
				WithReason("log_proof").
				WithDetail("host", host)
		}
	}
	return &RegistryKeys{Host: host, Namespace: ns, Keys: n.Keys}, nil
}
