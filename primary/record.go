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

// Record logs signatures. It must be called before the files are written; if it
// fails they must not be written, because a signature that is not in the log
// cannot be found after a misuse of the key.
func (v *Verbs) Record(ctx context.Context, files []SignedFile) error {
	if v.p.Record == nil || len(files) == 0 {
		return nil
	}
	made := make([]auditlog.Entry, len(files))
	for i, f := range files {
		made[i] = f.Entry
	}
	return v.p.Record(ctx, made)
}

// entryOf returns the log entry of a signature, with the digest of the item's whole file
// after signing.
func entryOf(it *resolve.Item, out []byte, signer string) auditlog.Entry {
	digest := it.Digest
	if !it.Type.Detached {
		digest = item.DigestOf(out)
	}
	return auditlog.Entry{
		Use:    "sign",
		Kind:   string(it.Ref.Kind),
		ID:     it.Ref.ID,
		Space:  it.Root.Label(),
		Digest: digest.String(),
		Key:    signer,
	}
}

// The limits of a batch: memory, and the time between reading a file and
// replacing it.
const (
	batchFiles = 512
	batchBytes = 8 << 20
	batchAge   = time.Second
)

// signedItem is an item that was signed in memory.
type signedItem struct {
	it    *resolve.Item
	out   SignedFile
	shown bool // the user has seen this version, or was asked about it
}

// batch signs files in memory, logs many signatures at once and then writes the
// files: an fsync of the log for each file would take as long as signing it.
// Files appear after all signatures of their batch are on the disk in the log. A file that
// changed meanwhile is refused.
type batch struct {
	verbs   *Verbs
	reports []SignReport
	done    int // the number of reports whose files are written

	held  []signedItem
	at    []int // the index of the report of each
	size  int
	since time.Time
}

// settled returns the reports of files that are not held in memory.
func (b *batch) settled() []SignReport {
	return b.reports[:b.done]
}

func (b *batch) sign(ctx context.Context, f signTarget, call SignCall) error {
	if ask := call.Ask; ask != nil {
		// What is signed already must not wait for an answer.
		call.Ask = func(ctx context.Context, text, question string) (bool, error) {
			if err := b.flush(ctx); err != nil {
				return false, err
			}
			return ask(ctx, text, question)
		}
	}
	rep, signed, err := b.verbs.signFile(ctx, f, call)
	if err != nil {
		return err
	}
	b.add(rep, signed)
	if len(b.held) == 0 ||
		len(b.held) < batchFiles && b.size < batchBytes && b.verbs.p.Now().Sub(b.since) < batchAge {
		return nil
	}
	return b.flush(ctx)
}

// add adds the report of a file, which is held in memory if it was signed.
func (b *batch) add(rep SignReport, signed *signedItem) {
	if signed != nil {
		b.hold(*signed)
	}
	b.reports = append(b.reports, rep)
	if len(b.held) == 0 {
		b.done = len(b.reports)
	}
}

func (b *batch) hold(s signedItem) {
	if len(b.held) == 0 {
		b.since = b.verbs.p.Now()
	}
	b.held = append(b.held, s)
	b.at = append(b.at, len(b.reports))
	b.size += len(s.it.Bytes) + len(s.out.Bytes)
}

// flush logs the held signatures, then writes the files.
func (b *batch) flush(ctx context.Context) error {
	files := make([]SignedFile, len(b.held))
	for i, s := range b.held {
		files[i] = s.out
	}
	if err := b.verbs.Record(ctx, files); err != nil {
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
	b.held = b.held[:0]
	b.at = b.at[:0]
	b.size = 0
	b.done = len(b.reports)
	return nil
}

// write replaces the file by its signed form, unless its body changed since it was
// read. Another signature on the same body is not a change, except in a version that
// the user was shown with its signature.
func (s signedItem) write() error {
	now, err := s.it.Root.Read(s.it.Rel, resolve.MaxItem)
	if err == nil &&
		(s.shown && !bytes.Equal(now, s.it.Bytes) || !sameBody(now, s.it.Bytes, s.it.Type.Style)) {
		err = diag.New(diag.HashMismatch, "signing %s: the file changed while it was signed, and was not replaced", s.it.Path()).
			WithReason("changed_while_signing").
			WithDetail("expected", s.it.Digest.String()).
			WithDetail("found", item.DigestOf(now).String())
	}
	if err != nil {
		return err
	}
	return s.it.Root.Write(s.out.Rel, s.out.Bytes)
}

// sameBody reports whether two files differ only in their signature lines.
func sameBody(a, b []byte, style sign.Style) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, xerr := sign.SplitFile(a, style)
	y, yerr := sign.SplitFile(b, style)
	return xerr == nil &&
		yerr == nil &&
		bytes.Equal(x.Body(), y.Body())
}
