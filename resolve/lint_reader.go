package resolve

import (
	"context"
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
)

// reader reads an extractor or a parser as the resolver does when it needs one, so that
// none is signed by which no item could be read.
func (r *Resolver) reader(ctx context.Context, it *Item) []diag.Finding {
	if !IsReader(it.Ref) ||
		it.OfOriginal() != nil ||
		it.Root.Embedded() ||
		diag.Failed(it.Findings) {
		return nil
	}
	doc, fs := bootValues(it)
	if diag.Failed(fs) {
		return fs
	}
	if strings.HasPrefix(it.Ref.ID, ParserFolder+"/") {
		_, fs := codecOf(doc)
		return fs
	}
	k := item.Kind(strings.TrimSuffix(it.Ref.Name(), extractorSuffix))
	if it.Ref != extractorRef(k) {
		f := diag.Errorf(
			diag.ConfigError,
			1,
			1,
			"rye reads no extractor at %s: the extractor of a kind is at %s",
			it.Ref.ID,
			path.Join(ExtractorFolder, "KIND", "KIND"+extractorSuffix),
		)
		f.Severity = diag.SeverityWarning
		return []diag.Finding{f}
	}
	ext, fs := extract.Parse(doc, func(id string) (string, error) {
		codec, err := r.codec(ctx, id)
		code := diag.CodeOf(err)
		if code != "" && code.Class() == diag.ClassTrust {
			return extract.CodecYAML, nil // the parser may be signed next
		}
		return codec, err
	})
	fs = append(kindFinding(it.Ref, ext, k), fs...)
	if table, err := r.Table(ctx); err == nil {
		for _, o := range table.All() {
			if o.Kind != k && strings.EqualFold(o.Folder, ext.Folder) {
				p := doc.At("folder")
				fs = append(fs, diag.Errorf(
					diag.ConfigError,
					p.Line,
					p.Column,
					"folder is %q, which is the directory of kind %s",
					ext.Folder,
					o.Kind,
				))
			}
		}
	}
	return fs
}
