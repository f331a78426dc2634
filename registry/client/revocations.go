package client

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/trust/doc"
)

// Revoked is a trust document that ends a key or a release, as the log of a registry names
// it. Whether it is valid depends on the trust documents of the user.
type Revoked struct {
	Digest    string
	Namespace string // whose key sent it; "" for the operator
	Text      []byte
}

// revokedName is the file with the list that this account read last: a registry must not
// withdraw a revocation.
const (
	revokedName = "revocations.json"
	revokedDir  = "revocations"
)

// Revocations returns the revocations that a registry knows for the namespaces that this
// process read, each proven by its log entry and its digest. A list that lacks one which
// this account saw, in an earlier list or in the log, is ROLLBACK. A registry without a
// list has none.
func (h *Host) Revocations(ctx context.Context) ([]Revoked, error) {
	if h.c.p.Offline {
		return nil, nil // what was read before is remembered by the caller
	}
	must, err := h.knownRevocations(ctx)
	if err != nil {
		return nil, err
	}
	list, err := h.fetchRevocations(ctx, must, conditional(""))
	if isOldList(err) { // a cache in between may have an older list than checkpoint
		list, err = h.fetchRevocations(ctx, must, uncached())
	}
	if err != nil || len(list.Documents) == 0 {
		return nil, err
	}
	var out []Revoked
	for _, r := range list.Documents {
		x, err := h.revoked(ctx, r)
		if err != nil {
			return nil, err
		}
		if x != nil {
			out = append(out, *x)
		}
	}
	err = h.dir.Replace(revokedName, list.Render(), 0o600)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "keeping the revocations of %s: %w", h.Name, err)
	}
	return out, nil
}

// knownRevocations returns the revocations that the list must have: all of the last list,
// and all whose log entries this account read.
func (h *Host) knownRevocations(ctx context.Context) ([]wire.Revocation, error) {
	out, err := h.keptRevocations()
	if err != nil {
		return nil, err
	}
	x, err := h.newest(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range slices.Sorted(maps.Keys(x.Revocations)) {
		out = append(out, wire.Revocation{Digest: x.Revocations[n], Log: n})
	}
	return out, nil
}

// fetchRevocations reads a list that has all revocations which it must have. A registry
// without a list has an empty one.
func (h *Host) fetchRevocations(
	ctx context.Context,
	must []wire.Revocation,
	header http.Header,
) (*wire.Revocations, error) {
	list := &wire.Revocations{V: 1}
	err := h.remote.getWith(ctx, wire.RevocationsPath, wire.MaxRevocations, header, func(f file) (err error) {
		if list, err = wire.ParseRevocations(f.body); err != nil {
			return err
		}
		return h.keepsRevocations(must, list)
	})
	if errors.Is(err, fs.ErrNotExist) {
		list = &wire.Revocations{V: 1}
		err = h.keepsRevocations(must, list)
	}
	return list, err
}

func isOldList(err error) bool {
	var e *diag.Error
	return errors.As(err, &e) && e.Reason == "registry_old_revocations"
}

// keptRevocations returns the list that this account read last. A file that cannot be read
// is an error, because without it a withdrawn revocation could not be seen.
func (h *Host) keptRevocations() ([]wire.Revocation, error) {
	b, err := openat.ReadRegular(h.dir.Path(revokedName), wire.MaxRevocations)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	list := &wire.Revocations{}
	if err == nil {
		list, err = wire.ParseRevocations(b)
	}
	if err != nil {
		return nil, h.damaged("the revocations", revokedName, err)
	}
	return list.Documents, nil
}

func (h *Host) keepsRevocations(must []wire.Revocation, list *wire.Revocations) error {
	have := map[int64]string{}
	for _, r := range list.Documents {
		have[r.Log] = r.Digest
	}
	for _, r := range must {
		if have[r.Log] != r.Digest {
			return diag.New(diag.Rollback, "reading the revocations of registry %s: the list lacks %s, log entry %d, which this account saw", h.Name, r.Digest, r.Log).
				WithReason("registry_old_revocations").
				WithDetail("host", h.Name).
				WithDetail("entry", r.Log)
		}
	}
	return nil
}

// revoked proves one line of the list and reads its document, nil for a namespace that this
// process did not read.
func (h *Host) revoked(ctx context.Context, r wire.Revocation) (*Revoked, error) {
	if r.Log >= h.Checkpoint().Tree.Size { // stored since the checkpoint was read
		if err := h.refresh(ctx); err != nil {
			return nil, err
		}
	}
	e, err := h.Entry(ctx, r.Log)
	if err != nil {
		return nil, err
	}
	if e.Type != log.Revocation ||
		e.Digest != r.Digest ||
		r.URL != wire.RevocationPath(r.Digest) {
		return nil, diag.New(diag.LogProof, "reading the revocations of registry %s: log entry %d does not record %s", h.Name, r.Log, r.Digest).
			WithReason("log_proof").
			WithDetail("host", h.Name).
			WithDetail("entry", r.Log)
	}
	h.mu.Lock()
	read := e.Namespace == "" || h.namespaces[e.Namespace]
	h.mu.Unlock()
	if !read {
		return nil, nil
	}
	text, err := h.revocationText(ctx, r)
	return &Revoked{r.Digest, e.Namespace, text}, err
}

func (h *Host) revocationText(ctx context.Context, r wire.Revocation) ([]byte, error) {
	name := path.Join(revokedDir, path.Base(r.URL))
	b, err := openat.ReadRegular(h.dir.Path(name), doc.MaxDocument)
	if err == nil && item.DigestOf(b).String() == r.Digest {
		return b, nil
	}
	var text []byte
	err = h.remote.get(ctx, r.URL, doc.MaxDocument, "", func(f file) error {
		got := item.DigestOf(f.body).String()
		if got != r.Digest {
			return diag.New(diag.HashMismatch, "reading the revocation %s: its bytes are not those that the log names", f.url).
				WithReason("registry_revocation").
				WithDetail("host", h.Name).
				WithDetail("expected", r.Digest).
				WithDetail("found", got)
		}
		text = f.body
		return nil
	})
	if err == nil {
		_ = h.dir.Replace(name, text, 0o600) // a copy that saves a request
	}
	return text, err
}
