package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/registry/client"
	"github.com/ryeos/rye/registry/judge"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// PackedBundle is a bundle as it is sent to a registry.
type PackedBundle struct {
	Host     string   `json:"host"`
	ID       string   `json:"id"` // NS/NAME[/vN]
	Version  string   `json:"version"`
	Archive  string   `json:"archive"` // its digest
	Bytes    int      `json:"bytes"`
	Sum      string   `json:"sum"`
	Manifest string   `json:"manifest"`
	Signers  []string `json:"signers"`
	Files    []string `json:"files"`

	archive []byte
}

// Full returns the id for projects.
func (b *PackedBundle) Full() string { return "registry:" + b.Host + "/" + b.ID }

// PackBundle packs the bundle in a directory under an id of a registry: as, or the name in
// its rye.yaml. The version is that of its signed manifest.
func PackBundle(ctx context.Context, p *project.Project, dir, as string) (*PackedBundle, error) {
	cache, err := p.Env.SourceCache()
	if err != nil {
		return nil, err
	}
	id, err := lock.ParseID(dir)
	if err != nil {
		return nil, err
	}
	local := source.Dir{Base: p.Env.Base, Cache: cache}
	snap, err := local.Fetch(ctx, source.Origin{ID: id, Version: lock.LocalVersion})
	if err != nil {
		return nil, err
	}
	return packSnapshot(ctx, p, snap, as)
}

// packSnapshot is PackBundle for files that were read.
func packSnapshot(ctx context.Context, p *project.Project, snap *source.Snapshot, as string) (*PackedBundle, error) {
	return packed(ctx, p, snap, as, true)
}

// packed is packSnapshot, also for a manifest that needs no signature yet.
func packed(ctx context.Context, p *project.Project, snap *source.Snapshot, as string, signed bool) (*PackedBundle, error) {
	var err error
	if as == "" {
		if as, err = registryName(snap); err != nil {
			return nil, err
		}
	}
	text, _ := snap.Read(lock.ProjectFileName) // without it, it names nothing
	if err := packages.CheckRegistryName(as, text); err != nil {
		return nil, err.WithReason("registry_as")
	}
	host, name, err := wire.ParseFull(as)
	if err != nil {
		return nil, err
	}
	b := &PackedBundle{Host: host, ID: name.String(), Sum: snap.Sum}
	if err := b.manifest(snap, signed); err != nil {
		return nil, err
	}
	if err := name.CheckVersion(b.Version); err != nil {
		return nil, err
	}
	if err := notByAgents(ctx, p, b, snap); err != nil {
		return nil, err
	}
	return b, b.pack(ctx, snap)
}

// registryName returns the id of a registry that a bundle names itself by.
func registryName(snap *source.Snapshot) (string, error) {
	var name string
	text, err := snap.Read(lock.ProjectFileName)
	if err == nil {
		if f, _ := lock.ParseProjectFile(text); f != nil {
			name = f.ID.String()
		}
	}
	if !strings.HasPrefix(name, "registry:") {
		return "", diag.New(diag.Usage, "packing the bundle: its %s does not name it registry:HOST/NS/NAME", lock.ProjectFileName).WithReason("registry_name")
	}
	return name, nil
}

// manifest reads the one manifest of the bundle.
func (b *PackedBundle) manifest(snap *source.Snapshot, signed bool) error {
	for _, f := range snap.Files {
		if _, ok := bundle.ManifestID(f.Path); !ok {
			continue
		}
		text, err := snap.Read(f.Path)
		if err != nil {
			return err
		}
		m, fs := bundle.Parse(text)
		if m == nil {
			return diag.FromFindings("reading "+f.Path, diag.WithPath(fs, f.Path))
		}
		if b.Manifest != "" {
			return diag.New(diag.AmbiguousItem, "packing the bundle: it has more than one manifest")
		}
		b.Manifest, b.Version = item.DigestOf(text).String(), "v"+m.Version
		sp, err := sign.SplitFile(text, sign.Hash())
		if err != nil {
			return err
		}
		if !sp.Signed && signed {
			return diag.New(diag.Unsigned, "packing the bundle: %s is not signed", f.Path).WithReason("registry_unsigned")
		}
		if b.Signers = []string{}; sp.Signed {
			b.Signers = []string{wire.KeyText(sp.Line.Key)}
		}
	}
	if b.Manifest == "" {
		return diag.New(diag.Unsigned, "packing the bundle: it has no manifest").WithReason("registry_unsigned")
	}
	return nil
}

func (b *PackedBundle) pack(ctx context.Context, snap *source.Snapshot) error {
	var files []wire.File
	if err := snap.Each(ctx, func(f source.File, data []byte) error {
		files = append(files, wire.File{Path: f.Path, Executable: f.Executable, Data: data})
		b.Files = append(b.Files, f.Path)
		return nil
	}); err != nil {
		return err
	}
	var err error
	if b.archive, err = wire.Pack(files); err != nil {
		return err
	}
	// What is sent must unpack to the tree that is named: a registry refuses it otherwise.
	list, err := wire.Unpack(ctx, bytes.NewReader(b.archive), func(wire.File) error { return nil })
	if err != nil {
		return err
	}
	sum, err := lock.HashTree(list)
	if err != nil {
		return err
	}
	if sum != b.Sum {
		return diag.New(diag.Internal, "packing the bundle: the archive has another hash than its files")
	}
	b.Bytes, b.Archive = len(b.archive), item.DigestOf(b.archive).String()
	return nil
}

// RegistryChange is a change that a registry made, with its proven log entry.
type RegistryChange struct {
	Host    string     `json:"host"`
	ID      string     `json:"id"`
	Version string     `json:"version,omitempty"`
	Action  string     `json:"action"`
	Log     int64      `json:"log"`
	Line    *wire.Line `json:"line,omitempty"`
}

// PublishBundle sends a packed bundle with a statement that a release key of the user signs.
// It is judged as the registry judges it before the key signs anything about its files.
func PublishBundle(ctx context.Context, p *project.Project, b *PackedBundle) (*RegistryChange, error) {
	h, signer, err := openForChange(ctx, p, b.Host)
	if err != nil {
		return nil, err
	}
	// Without an answer of the registry the bundle is judged, and sending it will fail.
	if _, err := judgeFor(ctx, p, b, wire.KeyText(sign.FingerprintOf(signer.Public()))); err != nil {
		return nil, err
	}
	return sendChange(ctx, p, h, signer, wire.Statement{Registry: b.Host, Action: wire.ActionPublish, ID: b.ID, Version: b.Version, Body: b.Archive, Sum: b.Sum}, b.archive)
}

// JudgeBundle returns the error that the registry would return for a packed bundle, by the
// code of the registry and by what it serves, without sending anything. Without the
// registry only the bundle is judged, with the key as that of the namespace; the note
// states why.
func JudgeBundle(ctx context.Context, p *project.Project, b *PackedBundle) (note string, err error) {
	key := b.Signers[0]
	if p.Env.Key != "" {
		if key, _, _, err = BindingKey(ctx, p); err != nil {
			return "", err
		}
	}
	return judgeFor(ctx, p, b, key)
}

// judgeFor is JudgeBundle for the key that publishes.
func judgeFor(ctx context.Context, p *project.Project, b *PackedBundle, key string) (note string, err error) {
	host, id, err := wire.ParseFull(b.Full())
	if err != nil {
		return "", err
	}
	v := rules.Preview{Host: host, ID: id, Version: b.Version, Archive: b.archive, Sum: b.Sum, Key: key, Judge: judge.New(judgeParams(p.Env)), Now: p.Env.Now()}
	if why := askRegistry(ctx, p, &v); why != nil {
		if c := diag.CodeOf(why).Class(); c == diag.ClassHistory || c == diag.ClassTrust && diag.CodeOf(why) != diag.KeyUnknown {
			return "", why // a registry that cannot be believed
		}
		note = "only the bundle was judged, with " + key + " as the key of the namespace: " + why.Error()
		v.Namespace, v.Lines, v.Revocations = ownNamespace(p, id.NS, key, v.Now), nil, nil
	}
	return note, v.Check(ctx)
}

// judgeParams returns the parts of an environment that the judgement needs.
func judgeParams(e *project.Env) judge.Params {
	return judge.Params{
		System:   e.Stdlib,
		Now:      e.Now,
		Released: e.Released,
	}
}

// askRegistry reads what a registry serves about a namespace and a bundle.
func askRegistry(ctx context.Context, p *project.Project, v *rules.Preview) error {
	h, err := p.Registries().Host(ctx, v.Host)
	if err != nil {
		return err
	}
	if v.Lines, err = h.Index(ctx, v.ID); err != nil && diag.CodeOf(err) != diag.SourceNotFound {
		return err
	}
	if v.Namespace, err = h.Namespace(ctx, v.ID.NS); err != nil {
		return err
	}
	list, err := h.Revocations(ctx)
	for _, r := range list {
		v.Revocations = append(v.Revocations, r.Text)
	}
	return err
}

// ownNamespace is a namespace that only one key of the user has.
func ownNamespace(p *project.Project, ns, key string, now time.Time) *wire.Namespace {
	out := &wire.Namespace{V: 1, Namespace: ns}
	fp, err := wire.ParseKey(key)
	if documents := p.Trust.Documents(fp); err == nil && len(documents) > 0 {
		out.Keys = []wire.BoundKey{{Key: key, Document: string(documents[0].Data()), From: wire.TimeText(now), Until: wire.TimeText(now.Add(time.Hour))}}
	}
	return out
}

// SetReleaseState changes the state of a published version: yank, unyank, unlist, relist or
// delete.
func SetReleaseState(ctx context.Context, p *project.Project, action, id, version, reason string) (*RegistryChange, error) {
	full, err := p.Env.FullRegistryID(id)
	if err != nil {
		return nil, err
	}
	host, name, err := wire.ParseFull(full)
	if err == nil {
		err = wire.CheckReason(reason)
	}
	if err != nil {
		return nil, err
	}
	return changeRegistry(ctx, p, wire.Statement{Registry: host, Action: action, ID: name.String(), Version: version, Reason: reason}, nil)
}

// SendRevocation sends a trust document that ends a key or a release of a namespace.
func SendRevocation(ctx context.Context, p *project.Project, host, ns, file string) (*RegistryChange, error) {
	if err := wire.CheckNamespace(ns); err != nil {
		return nil, err
	}
	text, err := openat.ReadRegular(p.Env.Path(file), doc.MaxDocument)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading the revocation: %w", err)
	}
	body := wire.RenderBody(&wire.RevocationRequest{V: 1, Document: string(text)})
	return changeRegistry(ctx, p, wire.Statement{Registry: host, Action: wire.ActionRevoke, ID: ns, Body: item.DigestOf(body).String()}, body)
}

// changeRegistry signs a statement, records the signature, sends the statement and verifies
// the receipt.
func changeRegistry(ctx context.Context, p *project.Project, st wire.Statement, body []byte) (*RegistryChange, error) {
	h, signer, err := openForChange(ctx, p, st.Registry)
	if err != nil {
		return nil, err
	}
	return sendChange(ctx, p, h, signer, st, body)
}

// openForChange returns a pinned registry and the key of a person that changes it.
func openForChange(ctx context.Context, p *project.Project, host string) (*client.Host, sign.Signer, error) {
	if err := p.NeedPin(host); err != nil {
		return nil, nil, err
	}
	h, err := p.Registries().Host(ctx, host)
	if err != nil {
		return nil, nil, err
	}
	signer, err := p.Keys.SignerFor(ctx, "release")
	if err != nil {
		return nil, nil, err
	}
	if k, ok := p.Trust.Key(sign.FingerprintOf(signer.Public())); ok && k.Agent() {
		return nil, nil, diag.New(diag.Scope, "changing registry %s: %s is the key of an agent, and only a person publishes", host, k.Fingerprint.Short()).WithReason("registry_agent")
	}
	return h, signer, nil
}

func sendChange(ctx context.Context, p *project.Project, h *client.Host, signer sign.Signer, st wire.Statement, body []byte) (*RegistryChange, error) {
	header, err := st.Sign(ctx, signer, p.Env.Now())
	if err != nil {
		return nil, err
	}
	if err := p.Recorder().Record(ctx, []auditlog.Entry{{Use: "publish", Space: string(space.User), Kind: st.Action, ID: path.Join(st.Registry, st.ID, st.Version),
		Digest: item.DigestOf([]byte(header)).String(), Key: st.Key.String()}}); err != nil {
		return nil, err
	}
	r, err := h.Send(ctx, &st, header, body)
	if err != nil {
		return nil, err
	}
	return &RegistryChange{Host: st.Registry, ID: st.ID, Version: st.Version, Action: st.Action, Log: r.Index, Line: r.Line}, nil
}

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
func DeviceToken(ctx context.Context, p *project.Project, host, ns string, show func(client.DeviceCode)) (string, error) {
	if err := p.NeedPin(host); err != nil {
		return "", err
	}
	h, err := p.Registries().Host(ctx, host)
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
	return changeKey(ctx, p, host, ns, wire.ActionKeyRemove, wire.KeyChange{V: 1, Key: key})
}

func changeKey(ctx context.Context, p *project.Project, host, ns, action string, change wire.KeyChange) (*RegistryChange, error) {
	if err := wire.CheckNamespace(ns); err != nil {
		return nil, err
	}
	body := wire.RenderBody(&change)
	return changeRegistry(ctx, p, wire.Statement{Registry: host, Action: action, ID: ns, Body: item.DigestOf(body).String()}, body)
}

// BindNamespace proves a namespace to a registry and binds the user's release key to it.
func BindNamespace(ctx context.Context, p *project.Project, host, ns string, proof RegistryProof) (*RegistryBinding, error) {
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
	body := wire.RenderBody(&wire.Binding{V: 1, Method: proof.Method, Document: string(documents[0].Data()), Token: proof.Token})
	c, err := changeRegistry(ctx, p, wire.Statement{Registry: host, Action: wire.ActionBind, ID: ns, Body: item.DigestOf(body).String()}, body)
	if err != nil {
		return nil, err
	}
	out := &RegistryBinding{Host: host, Namespace: ns, Key: wire.KeyText(fp), Method: proof.Method, Log: c.Log, Time: p.Env.Now().UTC().Truncate(time.Second)}
	all := slices.DeleteFunc(RegistryBindings(p, host), func(b RegistryBinding) bool { return b.Namespace == ns })
	return out, writeBindings(p, host, append(all, *out))
}

func bindingsBase(p *project.Project, host string) atomicfile.Base {
	return atomicfile.Private(path.Join(p.RegistryState(), client.DirName(host)))
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
	if err := p.NeedPin(host); err != nil {
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
	h, err := p.Registries().Host(ctx, host)
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
			return nil, diag.New(diag.LogProof, "reading the keys of %s at registry %s: log entry %d is not about %s", ns, host, k.Log, k.Key).WithReason("log_proof").WithDetail("host", host)
		}
	}
	return &RegistryKeys{Host: host, Namespace: ns, Keys: n.Keys}, nil
}
