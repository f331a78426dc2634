package resolve

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// ExtractorFolder is the directory of extractor items, below tools/.
const ExtractorFolder = "rye/core/extractors"

const extractorSuffix = "_extractor"

// ParserFolder is the directory of parser items, below tools/.
const ParserFolder = "rye/core/parsers"

// IsReader reports whether a ref has the id of an extractor or a parser. Other
// items cannot be read without them.
func IsReader(ref item.Ref) bool {
	return ref.Kind == item.Tool && (strings.HasPrefix(ref.ID, ParserFolder+"/") ||
		strings.HasPrefix(ref.ID, ExtractorFolder+"/") && strings.HasSuffix(ref.ID, extractorSuffix))
}

// OfOriginal returns the finding about an extractor or a parser of the Python original,
// else nil. It replaces all others: neither a signature nor a correction of single keys
// makes the file usable.
func (it *Item) OfOriginal() *diag.Finding {
	if !IsReader(it.Ref) {
		return nil
	}
	old := extract.OfOriginal(it.Type, &it.Meta)
	if old != nil {
		old.Path = it.Path()
	}
	return old
}

func extractorRef(k item.Kind) item.Ref {
	return item.Ref{Kind: item.Tool, ID: path.Join(
		ExtractorFolder,
		string(k),
		string(k)+extractorSuffix,
	)}
}

// readers are the extractors and the parsers that were read, each once.
type readers struct {
	all func() ([]item.Kind, error) // the kinds that have an extractor

	mu      sync.Mutex
	kinds   map[item.Kind]*kindEntry
	parsers map[string]*parserEntry
	table   *extract.Table // of all kinds, nil before it is complete
	// What Readable returned, nil before, and the errors of the kinds that it has not.
	readable *extract.Table
	refused  map[item.Kind]error
	notes    []Note // why an extractor was skipped
}

// sharedReaders returns the readers of another Resolver, nil if r could read other ones.
func (r *Resolver) sharedReaders(o *Resolver) *readers {
	if o == nil ||
		!o.p.Lenient ||
		!r.p.Lenient ||
		o.p.Trust != r.p.Trust ||
		!slices.Equal(o.roots, r.roots) {
		return nil
	}
	return o.readers
}

type kindEntry struct {
	once sync.Once
	ext  *extract.Extractor
	err  error
}

// Extractor returns the extractor of a kind, itself resolved and verified in
// the boot format.
func (r *Resolver) Extractor(ctx context.Context, k item.Kind) (*extract.Extractor, error) {
	if err := item.CheckKind(k); err != nil {
		return nil, err
	}
	r.readers.mu.Lock()
	e, ok := r.readers.kinds[k]
	if !ok {
		e = &kindEntry{}
		r.readers.kinds[k] = e
	}
	r.readers.mu.Unlock()
	// Without the lock: a run loads the extractors of two kinds at the same time.
	e.once.Do(func() {
		e.ext, e.err = r.loadExtractor(ctx, k)
	})
	return e.ext, e.err
}

// loadExtractor loads an extractor. A broken one stops runs; sign, verify and trust continue
// with the builtin minimum and report it.
func (r *Resolver) loadExtractor(ctx context.Context, k item.Kind) (*extract.Extractor, error) {
	ref := extractorRef(k)
	var ext *extract.Extractor
	err := r.bootEach(ctx, ref, func(it *Item) (fs []diag.Finding) {
		doc, fs := bootValues(it)
		if diag.Failed(fs) {
			return fs
		}
		ext, fs = extract.Parse(doc, func(id string) (string, error) {
			return r.codec(ctx, id)
		})
		ext.Source = it.Digest
		// First, because it explains the findings that follow.
		return append(kindFinding(ref, ext, k), fs...)
	})
	if err == nil {
		return ext, nil
	}
	b := extract.Boot().Kind(k)
	if b != nil && r.p.Lenient {
		r.note("", "kind %s is read by the built-in minimum: %s", k, err)
		return b, nil
	}
	e := diag.Typed(err)
	if extract.Boot().Kind(k) == nil &&
		e.Code == diag.ToolNotFound &&
		e.Details["ref"] == ref.String() {
		return nil, diag.New(diag.ToolNotFound, "reading the kind %q: no space has the extractor %s, which a kind needs", k, ref).
			WithReason("kinds").
			WithDetail("kinds", bootKinds()).
			WithDetail("ref", ref.String())
	}
	return nil, err
}

// bootKinds returns the names of the kinds that every project has.
func bootKinds() (out []string) {
	for _, ext := range extract.Boot().All() {
		out = append(out, string(ext.Kind))
	}
	return out
}

// kindFinding returns the finding about an extractor that is at the path of another kind.
func kindFinding(ref item.Ref, ext *extract.Extractor, k item.Kind) []diag.Finding {
	if ext.Kind == k {
		return nil
	}
	return []diag.Finding{diag.Errorf(
		diag.ConfigError,
		1,
		1,
		"an extractor at %s must declare kind %s, not %s",
		ref.ID,
		k,
		ext.Kind,
	)}
}

// codecOf returns the codec that a parser item names.
func codecOf(doc *tree.Doc) (string, []diag.Finding) {
	codec, _ := doc.Root["codec"].(string)
	if extract.HasCodec(codec) {
		return codec, nil
	}
	p := doc.At("codec")
	return codec, []diag.Finding{diag.Errorf(
		diag.ConfigError,
		max(p.Line, 1),
		p.Column,
		"codec %q is not one of %s",
		codec,
		strings.Join(extract.Codecs(), ", "),
	)}
}

// bootValues returns the values of a boot file. load has parsed a YAML file; any
// other file must contain YAML too, because no extractor exists yet to read it.
func bootValues(it *Item) (*tree.Doc, []diag.Finding) {
	if it.Type.Codec == extract.CodecYAML {
		return &tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos}, nil
	}
	return yamlx.Parse(it.Bytes)
}

type parserEntry struct {
	once  sync.Once
	codec string
	err   error
}

// codec returns the codec of a parser item. It reads each parser item once.
func (r *Resolver) codec(ctx context.Context, id string) (string, error) {
	r.readers.mu.Lock()
	e, ok := r.readers.parsers[id]
	if !ok {
		e = &parserEntry{}
		r.readers.parsers[id] = e
	}
	r.readers.mu.Unlock()
	e.once.Do(func() {
		e.codec, e.err = r.loadParser(ctx, id)
	})
	return e.codec, e.err
}

func (r *Resolver) loadParser(ctx context.Context, id string) (codec string, err error) {
	ref, err := item.ParseRef(id, item.Tool)
	if err != nil {
		return "", err
	}
	err = r.bootEach(ctx, ref, func(it *Item) []diag.Finding {
		doc, fs := bootValues(it)
		if diag.Failed(fs) {
			return fs
		}
		var found []diag.Finding
		codec, found = codecOf(doc)
		return append(fs, found...)
	})
	return codec, err
}

// bootEach reads a tool in the boot format and passes it to use. A lenient
// Resolver continues with the next root after an error.
func (r *Resolver) bootEach(
	ctx context.Context,
	ref item.Ref,
	use func(*Item) []diag.Finding,
) error {
	ext := extract.Boot().Kind(item.Tool)
	roots := r.roots
	var first error
	for {
		root, rel, err := r.locate(ext, ref, roots)
		if err == nil && root == nil {
			if first != nil {
				return first
			}
			return r.missing(ctx, ref, ext, roots, notFound(ref))
		}
		if err == nil {
			err = r.bootOne(ctx, ext, ref, root, rel, use)
		}
		if err == nil || !r.p.Lenient || root == nil {
			return err
		}
		if first == nil {
			first = err
		}
		r.note(root.Display(rel), "skipping %s: %s", root.Display(rel), err)
		roots = roots[slices.Index(roots, root)+1:]
	}
}

func (r *Resolver) bootOne(
	ctx context.Context,
	ext *extract.Extractor,
	ref item.Ref,
	root *space.Root,
	rel string,
	use func(*Item) []diag.Finding,
) error {
	it, err := r.load(ctx, root, rel, extract.Match{Extractor: ext, Type: typeOf(ext, rel), Ref: ref})
	if err != nil {
		return err
	}
	// Before the verdict: no signature makes such an item usable.
	if old := it.OfOriginal(); old != nil {
		return diag.FromFindings("reading "+ref.String(), []diag.Finding{*old})
	}
	if err := it.Usable(); err != nil {
		return err
	}
	return diag.FromFindings("reading "+ref.String(), diag.WithPath(use(it), it.Path()))
}

// Note is a finding about an extractor or a parser that was skipped.
type Note struct {
	diag.Finding
	Skipped string // the path of the file, "" for the items of a kind or a space
}

// note adds a reason for Notes, once.
func (r *Resolver) note(file, format string, args ...any) {
	r.readers.mu.Lock()
	defer r.readers.mu.Unlock()
	n := Note{diag.Warnf(diag.SchemaNotFound, 0, 0, format, args...), file}
	if !slices.ContainsFunc(r.readers.notes, func(o Note) bool { return n.Equal(o.Finding) }) {
		r.readers.notes = append(r.readers.notes, n)
	}
}

// discoverKinds returns the boot kinds and then the kinds for which a root has an
// extractor.
func (r *Resolver) discoverKinds() ([]item.Kind, error) {
	boot := extract.Boot()
	kinds := []item.Kind{item.Directive, item.Tool, item.Knowledge, item.Config}
	for _, root := range r.roots {
		err := root.Walk(path.Join("tools", ExtractorFolder), func(e space.Entry) error {
			p, _ := boot.Classify(e.Rel)
			k := item.Kind(strings.TrimSuffix(p.Ref.Name(), extractorSuffix))
			if item.CheckKind(k) == nil &&
				p.Ref == extractorRef(k) &&
				supplies(root, p.Ref) &&
				!slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
			return nil
		})
		switch {
		case err == nil:
		case r.p.Lenient: // the walk of the root reports the error in detail
			r.skip("the extractors of "+root.Label(), err)
		default:
			return nil, err
		}
	}
	return kinds, nil
}

// Table returns the extractors of every kind, which no caller may change.
func (r *Resolver) Table(ctx context.Context) (*extract.Table, error) {
	r.readers.mu.Lock()
	t := r.readers.table
	r.readers.mu.Unlock()
	if t != nil {
		return t, nil
	}
	kinds, err := r.readers.all()
	if err != nil {
		return nil, err
	}
	t = &extract.Table{}
	for _, k := range kinds {
		ext, err := r.Extractor(ctx, k)
		if err == nil {
			err = t.Add(ext)
		}
		switch {
		case err == nil:
		case r.p.Lenient:
			r.skip("kind "+string(k), err)
		default:
			return nil, err
		}
	}
	if ctx.Err() == nil {
		r.readers.mu.Lock()
		r.readers.table = t
		r.readers.mu.Unlock()
	}
	return t, nil
}

func (r *Resolver) skip(what string, err error) {
	r.note("", "skipping %s: %s", what, err)
}

// Notes returns why a lenient Resolver skipped extractors.
func (r *Resolver) Notes() []Note {
	r.readers.mu.Lock()
	defer r.readers.mu.Unlock()
	return slices.Clone(r.readers.notes)
}
