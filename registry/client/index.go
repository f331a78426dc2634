package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

const (
	indexDir  = "index"
	searchDir = "search"
)

// Index returns the versions of a bundle, the oldest first. The lines have a valid form and
// continue those that this account saw before. They are not proven: Prove does that.
func (h *Host) Index(ctx context.Context, id wire.ID) ([]*wire.Line, error) {
	h.mu.Lock()
	h.namespaces[id.NS] = true
	h.mu.Unlock()
	older, etag := readCopy(h.dir, id)
	if h.c.p.Offline && older != nil {
		return older, nil
	}
	lines, err := h.fetchIndex(ctx, id, older, conditional(etag))
	if errors.Is(err, errUnchanged) {
		lines = older
		err = h.upToDate(ctx, id, older)
	}
	if isOldIndex(err) { // a cache in between may have an older index than checkpoint
		lines, err = h.fetchIndex(ctx, id, older, uncached())
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && older == nil:
		return nil, diag.New(diag.SourceNotFound, "looking for %s in registry %s: it has no such bundle", id, h.Name).
			WithReason("registry_bundle").
			WithDetail("host", h.Name)
	case errors.Is(err, fs.ErrNotExist):
		return nil, h.fewer(id, 0, len(older))
	}
	return lines, err
}

// fetchIndex reads an index that continues an older one and is not older than the checkpoint.
func (h *Host) fetchIndex(
	ctx context.Context,
	id wire.ID,
	older []*wire.Line,
	header http.Header,
) (lines []*wire.Line, err error) {
	err = h.remote.getWith(
		ctx,
		wire.IndexPath+id.IndexPath(),
		wire.MaxIndex,
		header,
		func(f file) (err error) {
			if lines, err = wire.ParseIndex(f.body, id); err != nil {
				return err
			}
			if err := h.continues(id, older, lines); err != nil {
				return err
			}
			if err := h.upToDate(ctx, id, lines); err != nil {
				return err
			}
			lines, err = h.keepCopy(ctx, id, lines, f)
			return err
		},
	)
	return lines, err
}

func isOldIndex(err error) bool {
	var e *diag.Error
	return errors.As(err, &e) && e.Reason == "registry_old_index"
}

// Remembered returns the line of a version as this account last read it, without the
// network, nil if it never did.
func (c *Client) Remembered(host string, id wire.ID, version string) *wire.Line {
	lines, _ := readCopy(c.dirOf(host), id)
	for _, l := range lines {
		if l.Version == version {
			return l
		}
	}
	return nil
}

// continues refuses an index that lacks or changes lines which this account saw.
func (h *Host) continues(id wire.ID, older, newer []*wire.Line) error {
	if len(newer) < len(older) {
		return h.fewer(id, len(newer), len(older))
	}
	err := wire.CheckUpdate(older, newer)
	if err == nil {
		return nil
	}
	for i, was := range older {
		is := *newer[i]
		is.State = was.State
		is.Reason = was.Reason
		is.StateLog = was.StateLog
		if !bytes.Equal(is.Render(), was.Render()) {
			return h.moved(was, newer[i])
		}
	}
	return diag.New(diag.LogProof, "reading the index of %s from registry %s: %w", id, h.Name, err).
		WithReason("registry_state").
		WithDetail("host", h.Name)
}

func (h *Host) fewer(id wire.ID, now, before int) error {
	return diag.New(diag.Rollback, "reading the index of %s from registry %s: it has %d versions, and this account saw %d", id, h.Name, now, before).
		WithReason("registry_older").WithDetail("host", h.Name)
}

// moved is the error for a version whose line is not the one that was served before.
func (h *Host) moved(was, is *wire.Line) error {
	return diag.New(diag.TagMoved, "reading the index of %s from registry %s: %s is not the release that this account saw before", was.ID, h.Name, was.Version).
		WithReason("registry_moved_version").
		WithDetail("host", h.Name).
		WithDetail("version", was.Version).
		WithDetail("expected", fmt.Sprintf("%s, log entry %d", was.Sum, was.Log)).
		WithDetail("found", fmt.Sprintf("%s, log entry %d", is.Sum, is.Log))
}

// Find returns the line of a version.
func (h *Host) Find(
	ctx context.Context,
	id wire.ID,
	version string,
) (*wire.Line, error) {
	lines, err := h.Index(ctx, id)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(lines, func(l *wire.Line) bool {
		return l.Version == version
	})
	if i < 0 {
		return nil, diag.New(diag.VersionNotFound, "looking for %s %s in registry %s: it has no such version", id, version, h.Name).
			WithDetail("host", h.Name)
	}
	return lines[i], nil
}

// Prove returns the release entry of a line after checking that the log contains it and the
// entry of the line's state, and that both agree with the line.
func (h *Host) Prove(ctx context.Context, l *wire.Line) (*log.Entry, error) {
	last := l.Log
	if l.StateLog != nil {
		last = *l.StateLog
	}
	if last >= h.Checkpoint().Tree.Size && !h.c.p.Offline { // published since the checkpoint was read
		if err := h.refresh(ctx); err != nil {
			return nil, err
		}
	}
	e, err := h.Entry(ctx, l.Log)
	if err != nil {
		return nil, err
	}
	if why := releaseDiffers(l, e); why != "" {
		return nil, h.differs(l, l.Log, why)
	}
	if l.StateLog == nil {
		return e, nil
	}
	s, err := h.Entry(ctx, *l.StateLog)
	switch {
	case err != nil:
		return nil, err
	case s.Type != log.State || s.ID != l.ID || s.Version != l.Version || s.State != l.State || s.Reason != l.Reason:
		return nil, h.differs(l, *l.StateLog, "its state")
	}
	return e, nil
}

// releaseDiffers returns the first field in which a line differs from its log entry, "" if
// there is none.
func releaseDiffers(l *wire.Line, e *log.Entry) string {
	signers := slices.Sorted(slices.Values(e.Signers))
	for _, f := range []struct{ name, line, entry string }{
		{"the kind of the entry", log.Release, e.Type}, {"the bundle", l.ID, e.ID}, {"the version", l.Version, e.Version}, {"the hash of its files", l.Sum, e.Sum},
		{"the archive", l.Archive, e.Archive}, {"the manifest", l.Manifest, e.Manifest}, {"the publisher", l.Publisher, e.Publisher},
		{"the time", l.Published, wire.TimeText(e.Time)},
	} {
		if f.line != f.entry {
			return f.name
		}
	}
	if !slices.Equal(signers, l.Signers) {
		return "the signers"
	}
	return ""
}

func (h *Host) differs(l *wire.Line, index int64, what string) error {
	return diag.New(
		diag.LogProof,
		"proving %s %s of registry %s: %s in the index differs from log entry %d",
		l.ID,
		l.Version,
		h.Name,
		what,
		index,
	).
		WithReason("log_proof").WithDetail("host", h.Name).WithDetail("entry", index)
}

// Entry returns an entry of the log, proven to be in the tree of the checkpoint.
func (h *Host) Entry(ctx context.Context, index int64) (*log.Entry, error) {
	var raw []byte
	err := h.proven(h.Checkpoint().Tree, func(r *log.Reader) (err error) {
		raw, err = r.Entry(ctx, index)
		return err
	})
	if err != nil {
		return nil, h.proofError(fmt.Sprintf("proving log entry %d", index), err)
	}
	e, err := log.ParseEntry(raw)
	if err != nil {
		return nil, h.proofError(fmt.Sprintf("reading log entry %d", index), err)
	}
	return e, nil
}

// Archive returns the bytes of an archive with a digest.
func (h *Host) Archive(ctx context.Context, digest string, limit int64) ([]byte, error) {
	var out []byte
	err := h.remote.get(ctx, wire.ArchivePath+wire.ArchiveFile(digest), limit, "", func(f file) error {
		if got := item.DigestOf(f.body).String(); got != digest {
			return diag.New(diag.HashMismatch, "fetching an archive from %s: its bytes are not those that the log names", f.url).
				WithReason("registry_archive").
				WithDetail("host", h.Name).
				WithDetail("expected", digest).
				WithDetail("found", got)
		}
		out = f.body
		return nil
	})
	return out, err
}

// Deleted reports whether an error means that a version was deleted.
func Deleted(err error) bool {
	return errors.Is(err, errGone)
}

// Namespace returns the keys of a namespace. They are not proven.
func (h *Host) Namespace(ctx context.Context, ns string) (*wire.Namespace, error) {
	var out *wire.Namespace
	err := h.remote.get(ctx, wire.NamespacePath(ns), wire.MaxNamespace, "", func(f file) (err error) {
		out, err = wire.ParseNamespace(f.body, ns)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return &wire.Namespace{V: 1, Namespace: ns}, nil
	}
	return out, err
}

// Discover returns the document that describes a registry, which need not be pinned.
func (h *Host) Discover(ctx context.Context) (*wire.Discovery, error) {
	var out *wire.Discovery
	err := h.remote.get(ctx, wire.DiscoveryPath, wire.MaxDiscovery, "", func(f file) (err error) {
		out, err = wire.ParseDiscovery(f.body, h.Name)
		return err
	})
	return out, err
}

// Send sends a signed request and returns the receipt, whose entry and checkpoint are
// verified and adopted. A receipt that does not prove the change of the statement is
// LOG_PROOF. Header is the signed statement.
func (h *Host) Send(
	ctx context.Context,
	st *wire.Statement,
	header string,
	body []byte,
) (*wire.Receipt, error) {
	b, err := h.remote.post(
		ctx,
		path.Clean(wire.APIPath+wire.Endpoint(st.Action)),
		header,
		body,
	)
	if err != nil {
		return nil, err
	}
	r, err := wire.ParseReceipt(b)
	if err != nil {
		return nil, err
	}
	cp, err := h.verify(ctx, file{body: []byte(r.Checkpoint), url: h.remote.addresses[0]})
	if err != nil {
		return nil, err
	}
	p, err := log.ParseProof(r.Proof)
	if err == nil {
		err = log.CheckInclusion(
			p,
			cp.Tree,
			r.Index,
			log.LeafHash([]byte(r.Entry)),
		)
	}
	if err != nil {
		return nil, h.proofError("reading the receipt", err)
	}
	if why := receiptDiffers(header, r); why != "" {
		return nil, diag.New(diag.LogProof, "reading the receipt of registry %s: %s", h.Name, why).
			WithReason("log_proof").
			WithDetail("host", h.Name)
	}
	return r, h.adopt(ctx, cp, h.remote.addresses[0])
}
