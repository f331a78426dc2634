package publish

import (
	"bytes"
	"context"
	"path"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/lock/treehash"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
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
func (b *PackedBundle) Full() string {
	return "registry:" + b.Host + "/" + b.ID
}

// PackBundle packs the bundle in a directory under an id of a registry: as, or the name in
// its rye.yaml. It has the version of its signed manifest.
func PackBundle(ctx context.Context, p *project.Project, dir, as string) (*PackedBundle, error) {
	cache, err := deps.SourceCache(p.Env)
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
func packSnapshot(
	ctx context.Context,
	p *project.Project,
	snap *source.Snapshot,
	as string,
) (*PackedBundle, error) {
	return packed(ctx, p, snap, as, true)
}

// packed is packSnapshot, also for a manifest that needs no signature yet.
func packed(
	ctx context.Context,
	p *project.Project,
	snap *source.Snapshot,
	as string,
	signed bool,
) (*PackedBundle, error) {
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
		b.Manifest = item.DigestOf(text).String()
		b.Version = "v" + m.Version
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
	list, err := wire.Unpack(
		ctx,
		bytes.NewReader(b.archive),
		func(wire.File) error { return nil },
	)
	if err != nil {
		return err
	}
	sum, err := treehash.Of(list)
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
	_, err = judgeFor(ctx, p, b, wire.KeyText(sign.FingerprintOf(signer.Public())))
	if err != nil {
		return nil, err
	}
	return sendChange(
		ctx,
		p,
		h,
		signer,
		wire.Statement{
			Registry: b.Host,
			Action:   wire.ActionPublish,
			ID:       b.ID,
			Version:  b.Version,
			Body:     b.Archive,
			Sum:      b.Sum,
		},
		b.archive,
	)
}

// JudgeBundle returns the error that the registry would return for a packed bundle, by the
// code of the registry and by what it serves, without sending anything. Without the
// registry only the bundle is judged, with the key as a key of the namespace; the note
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
func judgeFor(
	ctx context.Context,
	p *project.Project,
	b *PackedBundle,
	key string,
) (note string, err error) {
	host, id, err := wire.ParseFull(b.Full())
	if err != nil {
		return "", err
	}
	v := rules.Preview{
		Host:    host,
		ID:      id,
		Version: b.Version,
		Archive: b.archive,
		Sum:     b.Sum,
		Key:     key,
		Judge:   judge.New(judgeParams(p.Env)),
		Now:     p.Env.Now(),
	}
	if why := askRegistry(ctx, p, &v); why != nil {
		c := diag.CodeOf(why).Class()
		if c == diag.ClassHistory || c == diag.ClassTrust && diag.CodeOf(why) != diag.KeyUnknown {
			return "", why // a registry that cannot be believed
		}
		note = "only the bundle was judged, with " + key + " as the key of the namespace: " + why.Error()
		v.Namespace = ownNamespace(p, id.NS, key, v.Now)
		v.Lines = nil
		v.Revocations = nil
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
	h, err := deps.RegistriesOf(p).Host(ctx, v.Host)
	if err != nil {
		return err
	}
	if v.Lines, err = h.Index(ctx, v.ID); err != nil &&
		diag.CodeOf(err) != diag.SourceNotFound {
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
	documents := p.Trust.Documents(fp)
	if err == nil && len(documents) > 0 {
		out.Keys = []wire.BoundKey{{
			Key:      key,
			Document: string(documents[0].Data()),
			From:     wire.TimeText(now),
			Until:    wire.TimeText(now.Add(time.Hour)),
		}}
	}
	return out
}

// SetReleaseState changes the state of a published version: yank, unyank, unlist, relist or
// delete.
func SetReleaseState(
	ctx context.Context,
	p *project.Project,
	action, id, version, reason string,
) (*RegistryChange, error) {
	full, err := deps.FullRegistryID(p.Env, id)
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
	return changeRegistry(
		ctx,
		p,
		wire.Statement{
			Registry: host,
			Action:   action,
			ID:       name.String(),
			Version:  version,
			Reason:   reason,
		},
		nil,
	)
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
	return changeRegistry(
		ctx,
		p,
		wire.Statement{
			Registry: host,
			Action:   wire.ActionRevoke,
			ID:       ns,
			Body:     item.DigestOf(body).String(),
		},
		body,
	)
}

// changeRegistry signs a statement, records the signature, sends the statement and verifies
// the receipt.
func changeRegistry(
	ctx context.Context,
	p *project.Project,
	st wire.Statement,
	body []byte,
) (*RegistryChange, error) {
	h, signer, err := openForChange(ctx, p, st.Registry)
	if err != nil {
		return nil, err
	}
	return sendChange(ctx, p, h, signer, st, body)
}

// openForChange returns a pinned registry and the key of a person that changes it.
func openForChange(
	ctx context.Context,
	p *project.Project,
	host string,
) (*client.Host, sign.Signer, error) {
	if err := deps.NeedPin(p, host); err != nil {
		return nil, nil, err
	}
	h, err := deps.RegistriesOf(p).Host(ctx, host)
	if err != nil {
		return nil, nil, err
	}
	signer, err := p.Keys.SignerFor(ctx, "release")
	if err != nil {
		return nil, nil, err
	}
	k, ok := p.Trust.Key(sign.FingerprintOf(signer.Public()))
	if ok && k.Agent() {
		return nil, nil, diag.New(diag.Scope, "changing registry %s: %s is the key of an agent, and only a person publishes", host, k.Fingerprint.Short()).
			WithReason("registry_agent")
	}
	return h, signer, nil
}

func sendChange(
	ctx context.Context,
	p *project.Project,
	h *client.Host,
	signer sign.Signer,
	st wire.Statement,
	body []byte,
) (*RegistryChange, error) {
	header, err := st.Sign(ctx, signer, p.Env.Now())
	if err != nil {
		return nil, err
	}
	err = p.Recorder().Record(ctx, []auditlog.Entry{{Use: "publish", Space: string(space.User), Kind: st.Action, ID: path.Join(st.Registry, st.ID, st.Version),
		Digest: item.DigestOf([]byte(header)).String(), Key: st.Key.String()}})
	if err != nil {
		return nil, err
	}
	r, err := h.Send(ctx, &st, header, body)
	if err != nil {
		return nil, err
	}
	return &RegistryChange{
		Host:    st.Registry,
		ID:      st.ID,
		Version: st.Version,
		Action:  st.Action,
		Log:     r.Index,
		Line:    r.Line,
	}, nil
}
