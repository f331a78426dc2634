package primary

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// Seen are the files that a call of Sign names, as they were when the user made the call. A
// passphrase and the answer to a question take time, in which another program can write.
type Seen struct{ files map[string]item.Digest }

// Seen reads the targets of a call. It returns nil for a call that changes nothing.
func (v *Verbs) Seen(ctx context.Context, call SignCall) (*Seen, error) {
	if call.Check {
		return nil, nil
	}
	files, err := v.targets(ctx, call)
	if err != nil {
		return nil, err
	}
	return seenOf(files), nil
}

func seenOf(files []signTarget) *Seen {
	s := &Seen{files: make(map[string]item.Digest, len(files))}
	for _, f := range files {
		b, err := f.root.Read(f.rel, resolve.MaxItem)
		if err == nil { // Sign reports the error
			s.files[f.root.Path(f.rel)] = item.DigestOf(b)
		}
	}
	return s
}

// changed reports whether a file differs from what was seen, or did not exist.
func (s *Seen) changed(f signTarget, it *resolve.Item) bool {
	if s == nil {
		return false
	}
	before, known := s.files[f.root.Path(f.rel)]
	return !known || before != item.DigestOf(it.Bytes)
}

func changedWhileAsked(it *resolve.Item) error {
	return diag.New(diag.HashMismatch, "signing %s: the file changed while rye asked, and is not signed", it.Path()).
		WithReason("changed_while_signing").WithDetail("found", it.Digest.String())
}
