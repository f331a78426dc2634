package resolve

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve/space"
)

// Plain knows in which items nothing is to be found: their metadata is valid, nothing
// in them is reported, and they name no other item. The digest names the content of an
// item, its ref and how it is read. Signatures and locks are no part of it.
type Plain interface {
	// Known reports whether an item is known to be plain. False states nothing.
	Known(digest [sha256.Size]byte) bool
	// Add is called for every item that was read and is plain.
	Add(digest [sha256.Size]byte)
}

// Walker reads the files of a walk one after the other. Of an item that is known to be
// plain only the verdict is new, and the next one is read into its memory.
type Walker struct {
	r    *Resolver
	last *Item
}

// Walker returns a Walker for one goroutine.
func (r *Resolver) Walker() *Walker {
	return &Walker{r: r}
}

// Walked is File for a walk that reports findings. It returns the verdict without
// metadata of an item that Params.Plain knows, as Item.Skipped states: Complete reads
// them. Such an item is valid until the next call, any other for as long as it is needed.
// unsigned states that the directory has no detached signature of the file.
func (w *Walker) Walked(
	ctx context.Context,
	root *space.Root,
	rel string,
	unsigned bool,
) (*Item, error) {
	table, err := w.r.Table(ctx)
	if err != nil {
		return nil, err
	}
	p, _ := table.Classify(rel)
	if p.Ref.IsZero() {
		return w.r.asset(root, rel)
	}
	return w.read(ctx, Item{
		Ref:       p.Ref,
		Root:      root,
		Rel:       rel,
		Extractor: p.Extractor,
		Type:      p.Type,
	}, !unsigned)
}

func (w *Walker) read(ctx context.Context, of Item, detached bool) (*Item, error) {
	it, buf := w.next()
	*it = of
	it.walked = w.r.p.Plain != nil
	err := w.r.loadInto(ctx, it, buf, detached)
	if err != nil {
		return nil, err
	}
	w.last = it
	return it, nil
}

// next returns memory for an item and its bytes: the memory of the last item if nothing was
// made of its bytes but their digest and the verdict.
func (w *Walker) next() (*Item, []byte) {
	last := w.last
	w.last = nil
	if last == nil || !last.Skipped || cap(last.Bytes) > keepBuffer {
		return &Item{}, nil
	}
	return last, last.Bytes
}

// keepBuffer is the size, in bytes, up to which the memory of a file is used again.
const keepBuffer = 64 << 10

// OpenPlain is Open for a caller that needs the metadata only of items that Params.Plain
// does not know. The item is valid as one of Walked.
func (w *Walker) OpenPlain(ctx context.Context, e Entry) (*Item, error) {
	ext, err := w.r.Extractor(ctx, e.Ref.Kind)
	if err != nil {
		return nil, err
	}
	return w.read(ctx, Item{
		Ref:       e.Ref,
		Root:      e.Root,
		Rel:       e.Rel,
		Extractor: ext,
		Type:      typeOf(ext, e.Rel),
	}, !e.Alone)
}

// Complete reads the metadata that were skipped.
func (r *Resolver) Complete(it *Item) {
	if it.Skipped {
		it.Skipped = false
		it.Meta, it.Findings = r.metadata(it)
	}
}

// MarkPlain states that a walk found nothing to report about the item, whatever its
// verdict is.
func (r *Resolver) MarkPlain(it *Item) {
	if it.walked && !it.Skipped && it.selfContained() {
		r.p.Plain.Add(it.plainDigest())
	}
}

// selfContained reports whether no other file can lead to a finding about the metadata
// of the item.
func (it *Item) selfContained() bool {
	if it.Support() || IsReader(it.Ref) || it.Extractor.Boot {
		return false
	}
	switch it.Ref.Kind {
	case item.Config: // its layers decide
		return false
	case item.Directive:
		d := it.Directive()
		return d.Extends.IsZero() &&
			len(d.Context)+len(d.Hooks)+len(d.Permissions.Aliases) == 0 &&
			!slices.ContainsFunc(d.Permissions.Caps, namesItem)
	case item.Tool:
		// A class is compared with the configuration of classes, a graph with the items that
		// it calls, the sinks of a stream with their items.
		return it.Declared() == "" &&
			it.Meta.ToolType != "graph" &&
			it.Meta.Config["sinks"] == nil
	}
	return true
}

// namesItem reports whether a capability permits to run exactly one item, which may be
// changed to one that does not run. Items of the system space change with the program.
func namesItem(c policy.Cap) bool {
	text := string(c)
	return strings.HasPrefix(text, "rye.execute.") &&
		!strings.HasPrefix(text, "rye.execute.tool.rye.") &&
		!strings.ContainsAny(text, "*?[")
}

// ReadDigest returns the digest of everything that the metadata of an item, and the
// findings about a self-contained one, depend on, except the program. ok is false if the
// built-in extractor read it.
func (it *Item) ReadDigest() (digest [sha256.Size]byte, ok bool) {
	if it.plain != ([sha256.Size]byte{}) {
		return it.plain, !it.Extractor.Boot
	}
	return it.plainDigest(), !it.Extractor.Boot
}

func (it *Item) plainDigest() [sha256.Size]byte {
	in := append(make([]byte, 0, 256), it.Extractor.Source[:]...)
	in = append(in, it.Digest[:]...)
	for _, s := range [...]string{string(it.Ref.Kind), it.Ref.ID, it.Type.Ext, it.Type.Codec} {
		in = append(binary.LittleEndian.AppendUint32(in, uint32(len(s))), s...)
	}
	return sha256.Sum256(in)
}

// knownPlain reports whether the metadata of the item need not be read.
func (r *Resolver) knownPlain(it *Item) bool {
	return it.walked &&
		!IsReader(it.Ref) &&
		it.Ref.Kind != item.Config &&
		!it.Extractor.Boot &&
		r.p.Plain.Known(it.plain)
}
