package primary

import (
	"bytes"
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
)

// Record writes down what was signed, before the caller writes the files. When
// it fails the files must not be written: nobody would know of the signatures.
func (h *Verbs) Record(ctx context.Context, files []SignedFile) error {
	if h.p.Record == nil || len(files) == 0 {
		return nil
	}
	made := make([]auditlog.Entry, len(files))
	for i, f := range files {
		made[i] = f.Entry
	}
	return h.p.Record(ctx, made)
}

// entryOf describes the signature of an item. The digest is that of the item's
// whole file as it is from then on.
func entryOf(it *resolve.Item, out []byte, signer string) auditlog.Entry {
	digest := it.Digest
	if !it.Type.Detached {
		digest = item.DigestOf(out)
	}
	return auditlog.Entry{
		Use: "sign", Kind: string(it.Ref.Kind), ID: it.Ref.ID, Space: it.Root.Label(), Digest: digest.String(), Key: signer,
	}
}

// The bounds of a batch: what is held in memory, and how old a reading may be
// when it is written over.
const (
	batchFiles = 512
	batchBytes = 8 << 20
	batchAge   = time.Second
)

// signedItem is an item that was signed in memory.
type signedItem struct {
	it  *resolve.Item
	out SignedFile
}

// batch signs files and holds them back until their signatures are recorded,
// many at once: to wait for the disk for each would take as long as to sign it.
type batch struct {
	house   *Verbs
	reports []SignReport
	done    int // reports up to here hold: nothing is held back that they tell of

	held  []signedItem
	at    []int // where the report of each is
	size  int
	since time.Time
}

// settled returns what became of the files, without those that are held back.
func (b *batch) settled() []SignReport { return b.reports[:b.done] }

func (b *batch) sign(ctx context.Context, f signTarget, call SignCall) error {
	rep, signed, err := b.house.signFile(ctx, f, call)
	if err != nil {
		return err
	}
	if signed != nil {
		b.hold(*signed)
	}
	b.reports = append(b.reports, rep)
	if len(b.held) == 0 {
		b.done = len(b.reports)
		return nil
	}
	if len(b.held) < batchFiles && b.size < batchBytes && b.house.p.Now().Sub(b.since) < batchAge {
		return nil
	}
	return b.flush(ctx)
}

func (b *batch) hold(s signedItem) {
	if len(b.held) == 0 {
		b.since = b.house.p.Now()
	}
	b.held, b.at = append(b.held, s), append(b.at, len(b.reports))
	b.size += len(s.it.Bytes) + len(s.out.Bytes)
}

// flush records what is held back, then writes it.
func (b *batch) flush(ctx context.Context) error {
	files := make([]SignedFile, len(b.held))
	for i, s := range b.held {
		files[i] = s.out
	}
	if err := b.house.Record(ctx, files); err != nil {
		return err
	}
	for i, s := range b.held {
		if err := ctx.Err(); err != nil {
			b.done = b.at[i]
			return diag.New(diag.Cancelled, "signing: %w", err)
		}
		if err := s.write(); err != nil {
			b.reports[b.at[i]].refuse(err)
		}
	}
	clear(b.held)
	b.held, b.at, b.size, b.done = b.held[:0], b.at[:0], 0, len(b.reports)
	return nil
}

// write puts the signed form in the place of what was read, unless somebody
// changed that meanwhile. To sign it at the same time is no change.
func (s signedItem) write() error {
	now, err := s.it.Root.Read(s.it.Rel, resolve.MaxItem)
	if err == nil && !sameBody(now, s.it.Bytes, s.it.Type.Style) {
		err = diag.New(diag.HashMismatch, "signing %s: it was changed meanwhile, and stays as it is now", s.it.Path())
	}
	if err != nil {
		return err
	}
	return s.it.Root.Write(s.out.Rel, s.out.Bytes)
}

// sameBody reports whether two files differ in their signature line at most.
func sameBody(a, b []byte, style sign.Style) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, xerr := sign.SplitFile(a, style)
	y, yerr := sign.SplitFile(b, style)
	return xerr == nil && yerr == nil && bytes.Equal(x.Body(), y.Body())
}
