package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
)

// What a project may make a user remember. A project of a stranger could bring
// thousands of revocations of keys nobody knows; they must not fill the folder.
const (
	maxSeen        = 2048
	maxSeenUnknown = 512 // of keys that do not count here
)

func (p Params) seenDir() string {
	if p.StateDir == "" {
		return ""
	}
	return filepath.Join(p.StateDir, "seen")
}

// readSeen takes in the revocations and rotations that earlier calls
// remembered. A file there is named STEM.DIGEST.toml, so that two documents of
// one name have room.
func (b *builder) readSeen() {
	dir := b.p.seenDir()
	if dir == "" {
		return
	}
	names, err := documentNames(TierUser, dir)
	if err != nil {
		b.unreadable(TierUser, dir, err)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		data, err := readDocument(TierUser, path)
		if err != nil {
			if !gone(path) {
				b.unreadable(TierUser, path, err)
			}
			continue
		}
		stem, _, _ := strings.Cut(name, ".")
		d, fs := parse(stem+".toml", data)
		d.Path, d.Tier, d.seen = path, TierUser, true
		if d.Kind != KindRevocation && d.Kind != KindRotation && d.Kind != KindReleaseRevocation && d.Kind != KindPublisher || diag.Failed(fs) {
			continue // nothing else is written there, and nothing else counts
		}
		b.docs = append(b.docs, d)
		b.seen[d.Digest] = true
	}
}

// remember collects what the project says that must not be forgotten when it
// leaves the project again.
func (b *builder) remember() {
	if b.p.StateDir == "" {
		return
	}
	room, unknown := maxSeen-len(b.seen), maxSeenUnknown-len(b.seen)
	keep := func(d *Document, known bool) {
		if d.seen || d.Tier != TierProject && !d.root || b.seen[d.Digest] || room <= 0 || !known && unknown <= 0 {
			return
		}
		b.seen[d.Digest] = true
		room--
		unknown--
		b.store.unseen = append(b.store.unseen, File{Name: d.Stem + "." + d.Digest.Hex()[:16] + ".toml", Data: d.raw})
	}
	for _, d := range b.kept {
		keep(d, true)
	}
	for _, e := range b.sorted() {
		for _, d := range slices.Concat(e.revocations, e.rotations, b.saidBy(e)) {
			keep(d, len(e.bases) > 0)
		}
	}
}

// saidBy returns the releases that a key takes back.
func (b *builder) saidBy(e *entry) []*Document {
	out := slices.DeleteFunc(b.store.withdrawn.all(), func(d *Document) bool { return d.Signer != e.key })
	slices.SortFunc(out, func(x, y *Document) int { return strings.Compare(x.Stem, y.Stem) })
	return out
}

// Remember writes the revocations and rotations that the store met for the
// first time into the user's state: who removes them from the project later
// gains nothing. It returns what could not be written.
func Remember(p Params, s *Store) error {
	dir := p.seenDir()
	if dir == "" || len(s.unseen) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return diag.New(diag.FileSystemError, "remembering revocations: %w", err)
	}
	var all []error
	for _, f := range s.unseen {
		err := atomicfile.CreateExclusive(filepath.Join(dir, f.Name), f.Data, 0o600)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			all = append(all, err)
		}
	}
	if err := errors.Join(all...); err != nil {
		return diag.New(diag.FileSystemError, "remembering revocations: %w", err)
	}
	return nil
}
