package client

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

// Moved is a release as something of this account records it.
type Moved struct{ ID, Version, Log, Archive string }

// Moved returns the error for a version whose index line names another release than the
// recorded one. If the log contains both, that is evidence: it is written.
func (h *Host) Moved(ctx context.Context, was Moved, is *wire.Line) error {
	err := diag.New(diag.TagMoved, "comparing %s %s with registry %s: the index names another release than the recorded one", was.ID, was.Version, h.Name).
		WithReason("registry_moved_version").
		WithDetail("host", h.Name).
		WithDetail("version", was.Version).
		WithDetail("expected", fmt.Sprintf("%s, log entry %s", was.Archive, was.Log)).
		WithDetail("found", fmt.Sprintf("%s, log entry %d", is.Archive, is.Log))
	index, bad := strconv.ParseInt(was.Log, 10, 64)
	if bad != nil {
		return err
	}
	older, e1 := h.provenEntry(ctx, index)
	newer, e2 := h.provenEntry(ctx, is.Log)
	if errors.Join(e1, e2) != nil {
		return err
	}
	name := h.c.p.Now().UTC().Format("20060102T150405Z")
	files := map[string]string{
		"checkpoint.note": string(h.Checkpoint().Note), "line.json": string(is.Render()),
		"older.entry": older.text, "older.proof": older.proof, "older.index": was.Log + "\n",
		"newer.entry": newer.text, "newer.proof": newer.proof, "newer.index": strconv.FormatInt(is.Log, 10) + "\n",
		"README": "checkpoint.note is a signed C2SP checkpoint. Its tree includes both entries, by the RFC 6962\n" +
			"inclusion proofs (one hash in base64 per line) at the positions in the index files. Both are\n" +
			"releases of one version, so the registry moved it.\n",
	}
	for file, text := range files {
		bad := h.dir.Write(
			path.Join(movedDir, name, file),
			[]byte(text),
			0o600,
		)
		if bad != nil {
			return err
		}
	}
	return err.WithDetail("evidence", h.dir.Path(path.Join(movedDir, name)))
}

type entryProof struct{ text, proof string }

// provenEntry returns an entry with its inclusion proof in the checkpoint.
func (h *Host) provenEntry(ctx context.Context, index int64) (out entryProof, err error) {
	err = h.proven(h.Checkpoint().Tree, func(r *log.Reader) error {
		b, err := r.Entry(ctx, index)
		if err != nil {
			return err
		}
		p, err := r.Prove(ctx, index)
		out = entryProof{string(b), p.String()}
		return err
	})
	return out, err
}
