package resolve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/directive"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
)

// File reads and verifies the file at rel below root and extracts its metadata.
// It may be an item, a support file, or a file that no extractor reads. The last
// has a zero Ref and the verdict of the bundle manifest that lists it.
func (r *Resolver) File(
	ctx context.Context,
	root *space.Root,
	rel string,
) (*Item, error) {
	table, err := r.Readable(ctx)
	if err != nil {
		return nil, err
	}
	p, known := table.Classify(rel)
	if !known {
		if err := r.Refused(rel); err != nil {
			return nil, err
		}
	}
	if p.Ref.IsZero() {
		return r.asset(root, rel)
	}
	return r.load(ctx, root, rel, p)
}

// asset reads a file that cannot have a signature of its own.
func (r *Resolver) asset(root *space.Root, rel string) (*Item, error) {
	it := &Item{Root: root, Rel: rel}
	b, err := root.Read(rel, bundle.MaxFile)
	if err != nil {
		return nil, readError(it.Path(), err)
	}
	it.Bytes, it.Digest = b, item.DigestOf(b)
	it.Verdict = trust.Verdict{}.Refuse(diag.Unsigned, "it is not an item and no trusted bundle manifest lists it")
	it.Verdict = r.byManifest(it)
	it.Verdict = r.lockedVerdict(it)
	return it, nil
}

// load reads a file once. The verdict is on these bytes, and every later step
// uses them: a file that changes meanwhile cannot get the verdict of another.
func (r *Resolver) load(
	ctx context.Context,
	root *space.Root,
	rel string,
	p extract.Match,
) (*Item, error) {
	now := r.p.Trust.Now()
	it := r.embedded.get(root, rel, p, now)
	if it != nil {
		return it, ctx.Err()
	}
	it = &Item{
		Ref:       p.Ref,
		Root:      root,
		Rel:       rel,
		Extractor: p.Extractor,
		Type:      p.Type,
	}
	if err := r.loadInto(ctx, it, nil, true); err != nil {
		return nil, err
	}
	r.embedded.put(it, now)
	return it, nil
}

// loadInto reads the file of an item, and its detached signature unless it is known that
// it has none. The bytes may be in the memory of buf.
func (r *Resolver) loadInto(ctx context.Context, it *Item, buf []byte, detached bool) error {
	b, err := it.Root.ReadInto(buf, it.Rel, MaxItem)
	if err != nil {
		return readError(it.Path(), err)
	}
	if detached {
		if it.Signature, err = readOptional(it.Root, it.Rel+extract.DetachedExt); err != nil {
			return readError(it.Path()+extract.DetachedExt, err)
		}
	}
	r.judge(it, b)
	return ctx.Err()
}

// WithBytes returns the item as it would be if its file contained b.
func (r *Resolver) WithBytes(it *Item, b []byte) *Item {
	out := *it
	r.judge(&out, b)
	return &out
}

// judge sets what follows from the bytes of the item.
func (r *Resolver) judge(it *Item, b []byte) {
	it.Bytes, it.Digest = b, item.DigestOf(b)
	in := r.TrustInput(it)
	in.Digest = it.Digest // here only: other callers of TrustInput exchange its bytes
	it.Verdict = r.p.Trust.Verify(in)
	it.kept = nil
	it.plain = [sha256.Size]byte{}
	if r.p.Plain != nil {
		it.plain = it.plainDigest() // once: chains share their last elements
	}
	if it.Skipped = r.knownPlain(it); !it.Skipped {
		it.Meta, it.Findings = r.metadata(it)
	}
	if it.Support() &&
		r.p.WasTool != nil &&
		it.own() &&
		r.p.WasTool(it.Ref) {
		f := diag.Errorf(diag.ValidationFailed, 0, 0, "it was a tool when it was locked, and has no tool_type now")
		f.Path = it.Path()
		it.Findings = append(it.Findings, f.WithReason("was_tool"))
	}
	if it.Support() && it.Verdict.Code == diag.Unsigned {
		it.Verdict = r.byManifest(it)
	}
	it.Verdict = r.lockedVerdict(it)
}

// TrustInput returns the input of the verdict on the item.
func (r *Resolver) TrustInput(it *Item) trust.Input {
	return trust.Input{
		Space:        string(it.Root.Space),
		Embedded:     it.Root.Embedded(),
		Path:         it.Path(),
		Bytes:        it.Bytes,
		Detached:     it.Signature,
		DetachedOnly: it.Type.Detached,
		Style:        it.Type.Style,
		Subject:      extract.Subject(it.Ref),
		MaxSize:      MaxItem,
		Text:         true,
		Covered:      it.Root.Covered(it.Rel, it.Digest),
		Locked:       r.recorded(it),
	}
}

func readError(path string, err error) error {
	var e *diag.Error
	if errors.As(err, &e) && !space.IsMissing(err) {
		// The message names the file by its path below .ai: replace that path.
		e2 := *e
		_, cause, ok := strings.Cut(e.Message, "\": ")
		if ok && strings.HasPrefix(e.Message, "reading \"") {
			e2.Message = "reading " + path + ": " + cause
		}
		return &e2
	}
	if space.IsMissing(err) {
		return diag.New(diag.ItemNotFound, "reading %s: %w", path, err)
	}
	return diag.New(diag.FileSystemError, "reading %s: %w", path, err)
}

func readOptional(root *space.Root, rel string) ([]byte, error) {
	b, err := root.Read(rel, 1<<10)
	if space.IsMissing(err) {
		return nil, nil
	}
	return b, err
}

// metadata extracts and validates the metadata of an item. It uses the cache if
// the same bytes were read before with the same id.
func (r *Resolver) metadata(it *Item) (item.Metadata, []diag.Finding) {
	if it.unread {
		return item.Metadata{}, nil
	}
	key := metaKey{it.Ref, it.Digest, it.Extractor, it.Type.Ext}
	if e, ok := r.cache.get(key); ok {
		it.kept = e.kept
		return e.meta, diag.WithPath(slices.Clone(e.findings), it.Path())
	}
	if m, ok := r.parsed(it); ok {
		it.kept = &kept{}
		r.cache.put(key, metaEntry{m, nil, it.kept})
		return m, nil
	}
	m, fs := it.Extractor.Read(it.Type, it.Bytes)
	switch {
	case it.Ref.Kind != item.Tool || m.ToolType != "":
		failed := diag.Failed(fs)
		fs = append(fs, validate(it, &m, failed)...)
		// A key that nothing reads may be a restriction: no verb may ignore it.
		if it.Ref.Kind == item.Tool {
			fs = append(fs, it.Extractor.UnknownKeys(it.Type, it.Bytes, &m)...)
		}
		if it.Ref.Kind == item.Directive {
			_, found := directive.Read(&m)
			fs = append(fs, found...)
			diag.Sort(fs)
		}
	case !diag.Failed(fs) || !bytes.Contains(it.Bytes, []byte("tool_type")):
		// A support file has no metadata, so parse errors in it are not findings.
		fs = it.Extractor.Misread(it.Type, it.Bytes, &m)
	}
	it.kept = &kept{}
	r.cache.put(key, metaEntry{m, slices.Clone(fs), it.kept})
	return m, diag.WithPath(fs, it.Path())
}

// validate returns the findings about the metadata of an item. If nothing could be
// read, the reason is a finding already, and each missing field would repeat it.
func validate(it *Item, m *item.Metadata, failed bool) []diag.Finding {
	fs := it.Extractor.Validate(it.Ref, m)
	if failed && len(m.Fields) == 0 {
		fs = slices.DeleteFunc(fs, func(f diag.Finding) bool {
			return f.Reason == "missing_field"
		})
	}
	return fs
}

type metaKey struct {
	ref    item.Ref
	digest item.Digest
	ext    *extract.Extractor
	suffix string // two files of one id and content may still be read differently
}

type metaEntry struct {
	meta     item.Metadata
	findings []diag.Finding
	kept     *kept
}

// metaCache holds at most max entries; when full it is emptied. An entry is never
// stale, because its key contains the digest of the content.
type metaCache struct {
	mu           sync.Mutex
	max          int
	m            map[metaKey]metaEntry
	hits, misses int64
}

func newMetaCache(limit int) *metaCache {
	return &metaCache{max: limit, m: map[metaKey]metaEntry{}}
}

func (c *metaCache) get(k metaKey) (metaEntry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.m[k]
	if ok {
		c.hits++
	} else {
		c.misses++
	}
	return e, ok
}

func (c *metaCache) put(k metaKey, e metaEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.max == 0 {
		return
	}
	if len(c.m) >= c.max {
		clear(c.m)
	}
	c.m[k] = e
}

// CacheStats returns the hits and misses of the metadata cache. An embedded item that was
// judged just before is a hit: its metadata is not read again.
func (r *Resolver) CacheStats() (hits, misses int64) {
	if r.embedded != nil {
		r.embedded.mu.Lock()
		hits = r.embedded.hits
		r.embedded.mu.Unlock()
	}
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	return hits + r.cache.hits, r.cache.misses
}
