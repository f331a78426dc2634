// Package verify walks a space and judges every file in it: signatures, trust,
// metadata, hidden characters, collisions, links and bundle manifests.
//
// It reads items through resolve, as every run does, so both give the same
// verdict. It does not write files, run items or render output.
package verify

import (
	"context"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/winname"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"golang.org/x/sync/errgroup"
)

// Params configures a walk. Resolver is required and should be lenient.
type Params struct {
	Resolver *resolve.Resolver
	Trust    *trust.Store
	// CountOnly leaves Report.Files empty; Judged and Trusted are set.
	CountOnly bool
	// Ignored returns which of the paths, as findings name them, git ignores in the
	// work tree. It may be nil. An ignored file that is not trusted is counted only:
	// it is in no commit, and nothing runs it.
	Ignored func(ctx context.Context, paths []string) (map[string]bool, error)
	// Filtered returns which of the paths, as findings name them, git stores with other
	// bytes than the work tree has, and the attribute that makes it do so. It may be nil. An error is a warning.
	Filtered func(ctx context.Context, paths []string) (map[string]string, error)
	// Each is called for every item, trusted or not, by several goroutines. It may be nil.
	Each func(ctx context.Context, it *resolve.Item) error
	// Explain keeps every refused file with the steps of its judgement.
	Explain bool
}

// File is the judgement of one file.
type File struct {
	Ref     string        `json:"ref,omitempty"`
	Space   string        `json:"space"`
	Path    string        `json:"path"`
	Digest  item.Digest   `json:"digest"`
	Support bool          `json:"support,omitempty"`
	Bundle  string        `json:"bundle,omitempty"` // the bundle whose manifest the file is, or ""
	Verdict trust.Verdict `json:"verdict"`
	Steps   []string      `json:"steps,omitempty"` // of the judgement, with Params.Explain
}

// Report is the outcome of a walk.
type Report struct {
	Files    []File         `json:"files"` // empty with Params.CountOnly
	Findings []diag.Finding `json:"findings"`
	Judged   int            `json:"-"` // number of files
	Trusted  int            `json:"-"` // number of trusted files
	keys     map[sign.Fingerprint]*keyUse
	Ignored  int `json:"ignored,omitempty"`
}

// Failed reports whether any finding is an error.
func (r *Report) Failed() bool {
	return diag.Failed(r.Findings)
}

// Root verifies everything below the .ai directory of a root.
func Root(ctx context.Context, p Params, root *space.Root) (*Report, error) {
	w := &walk{p: p, root: root}
	var err error
	if w.table, err = p.Resolver.Table(ctx); err != nil {
		return nil, err
	}
	w.whole = true
	if err := w.collect(ctx, "."); err != nil {
		return nil, err
	}
	if err := w.judge(ctx); err != nil {
		return nil, err
	}
	for _, n := range p.Resolver.Notes() {
		// The finding about a file of the original contains what to do.
		old := func(f diag.Finding) bool {
			return f.Path == n.Skipped && strings.HasPrefix(f.Reason, "original_")
		}
		if n.Skipped == "" || !slices.ContainsFunc(w.report.Findings, old) {
			w.report.Findings = append(w.report.Findings, n.Finding)
		}
	}
	return w.finish(), nil
}

// Below verifies everything at or below rel in a root. If rel is a detached
// signature, it verifies the signed file.
// Files of an unknown directory below .ai are a warning: rye does not use them.
func Below(ctx context.Context, p Params, root *space.Root, rel string) (*Report, error) {
	w := &walk{p: p, root: root}
	var err error
	if w.table, err = p.Resolver.Table(ctx); err != nil {
		return nil, err
	}
	if isFile(root, rel) {
		w.named = true
		w.files = []string{strings.TrimSuffix(rel, extract.DetachedExt)}
	} else if err := w.collect(ctx, rel); err != nil {
		return nil, err
	}
	if err := w.judge(ctx); err != nil {
		return nil, err
	}
	return w.finish(), nil
}

// isFile reports whether rel exists on disk and is not a directory.
func isFile(root *space.Root, rel string) bool {
	fi, err := os.Lstat(root.Path(rel))
	return root.OnDisk() && err == nil && !fi.IsDir()
}

// Item reports on one resolved item.
func Item(ctx context.Context, r *resolve.Resolver, it *resolve.Item) *Report {
	out := &Report{Findings: findingsOf(ctx, r, it)}
	out.file(fileOf(it), true)
	return out
}

// file counts one file and, if keep is set, adds it to Files.
func (r *Report) file(f File, keep bool) {
	r.Judged++
	if f.Verdict.Status == trust.Trusted {
		r.Trusted++
		r.useKey(f)
	}
	if keep {
		r.Files = append(r.Files, f)
	}
}

// Merge adds the files, findings and counts of o.
func (r *Report) Merge(o *Report) {
	r.Files = append(r.Files, o.Files...)
	r.Findings = append(r.Findings, o.Findings...)
	r.Judged = r.Judged + o.Judged
	r.Trusted = r.Trusted + o.Trusted
	r.Ignored = r.Ignored + o.Ignored
	r.mergeKeys(o)
}

type walk struct {
	p     Params
	root  *space.Root
	table *extract.Table

	named bool // the walk is one file that the user named: nothing is ignored
	whole bool // the walk starts at the top of the root and includes the manifests

	files      []string        // to judge
	signed     map[string]bool // files with a detached signature
	attributes bool            // a directory of the walk has a file .gitattributes
	held       []held          // refused files that git may ignore
	report     Report
}

func (w *walk) finding(f diag.Finding, rel string) {
	f.Path = w.root.Display(rel)
	w.report.Findings = append(w.report.Findings, f)
}

// collect lists the files and reports problems that need no content.
func (w *walk) collect(ctx context.Context, rel string) error {
	sigs := map[string]string{} // signed file: its detached signature
	ids := newCollisions()
	err := w.root.Walk(rel, func(e space.Entry) error {
		if path.Base(e.Rel) == ".gitattributes" {
			w.attributes = true
		}
		if extract.Own(e.Rel) {
			return ctx.Err()
		}
		if f, is := leftover(e); is {
			w.finding(f, e.Rel)
			return ctx.Err()
		}
		if e.Type != 0 || e.Err != nil {
			w.finding(irregular(e), e.Rel)
			return ctx.Err()
		}
		manifest, ok := bundle.CosignedManifest(e.Rel)
		if ok && strings.HasPrefix(e.Rel, space.BundlesFolder+"/") {
			sigs[manifest] = e.Rel
			return ctx.Err()
		}
		if path.Ext(e.Rel) == extract.DetachedExt {
			sigs[strings.TrimSuffix(e.Rel, extract.DetachedExt)] = e.Rel
			return ctx.Err()
		}
		w.collide(e.Rel, ids)
		w.list(e)
		return ctx.Err()
	})
	w.signed = map[string]bool{}
	for _, rel := range w.files {
		if sigs[rel] != "" {
			w.signed[rel] = true
			delete(sigs, rel)
		}
	}
	for base, rel := range sigs {
		f := diag.Errorf(diag.Unsigned, 0, 0, "the detached signature has no file %s", path.Base(base))
		w.finding(f.WithReason("no_file"), rel)
	}
	if err == nil {
		w.filtered(ctx)
	}
	return err
}

// irregular returns the finding for an entry that is not a regular file.
func irregular(e space.Entry) diag.Finding {
	f := diag.Errorf(diag.NotRegular, 0, 0, "it is not a regular file (%s)", e.Type)
	if e.Err != nil {
		f = diag.Errorf(codeOf(e.Err), 0, 0, "%s", e.Err)
	}
	return f
}

// list adds a regular file to the walk if it can be an item or a file of a bundle.
func (w *walk) list(e space.Entry) {
	p, known := w.table.Classify(e.Rel)
	if name := winname.In(e.Rel); name != "" { // also of files that are not items, such as files of bundles
		f := diag.Warnf(diag.PathEscape, 0, 0, "%q is a device on Windows: the file cannot exist there, and is not an item on any system", name)
		w.finding(f.WithReason("device_name"), e.Rel)
	}
	switch {
	case strings.HasPrefix(path.Base(e.Rel), ".git") || path.Base(e.Rel) == ".keep":
	case !p.Ref.IsZero(), manifest(e.Rel), known: // a known file that is not an item must be in a manifest
		w.files = append(w.files, e.Rel)
	case extract.Incidental(e.Rel):
		w.report.Ignored++
	default:
		f := diag.Warnf(diag.SchemaNotFound, 0, 0, "no extractor matches this path, so the file is not verified").WithReason("no_extractor")
		if folder := w.alike(e.Rel); folder != "" {
			f = diag.Errorf(diag.AmbiguousItem, 0, 0, "some file systems take this directory for %s/%s: there its files could be items, here they are not verified", space.Dir, folder).
				WithReason("alike_folder")
		}
		f.Path = w.root.Display(e.Rel)
		w.held = append(w.held, held{path: f.Path, findings: []diag.Finding{f}})
	}
}

// alike returns the directory of a kind, or the directory of bundles, for which some file system
// takes the first element of rel, "" if it has its exact name or none.
func (w *walk) alike(rel string) string {
	first, _, _ := strings.Cut(rel, "/")
	folders := []string{space.BundlesFolder}
	for _, e := range w.table.All() {
		folders = append(folders, e.Folder)
	}
	for _, folder := range folders {
		if first != folder && policy.SameName(first, folder) {
			return folder
		}
	}
	return ""
}

// manifest reports whether rel is a bundle manifest: bundles/NAME/manifest.yaml.
func manifest(rel string) bool {
	_, ok := bundle.ManifestID(path.Join(space.Dir, rel))
	return ok
}

// judge verifies every file, GOMAXPROCS at a time.
func (w *walk) judge(ctx context.Context) error {
	if err := w.manifests(ctx); err != nil {
		return err
	}
	g, ctxEach := errgroup.WithContext(ctx) // ends with Wait
	var mu sync.Mutex                       // of w.report
	var next atomic.Int64
	// A goroutine for each file would grow a new stack for each.
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			files := w.p.Resolver.Walker()
			for i := next.Add(1) - 1; int(i) < len(w.files); i = next.Add(1) - 1 {
				err := w.each(ctxEach, files, w.files[i], &mu)
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	w.release(ctx)
	return nil // finish sorts what they found
}

// each judges one file and adds it to the report, which mu protects.
func (w *walk) each(
	ctx context.Context,
	files *resolve.Walker,
	rel string,
	mu *sync.Mutex,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	file, findings, err := w.one(ctx, files, rel)
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	switch {
	case !w.named && extract.Incidental(rel) && file.Verdict.Code == diag.Unsigned:
		w.report.Ignored++
	case !file.Verdict.OK():
		refused := file
		w.held = append(w.held, held{file.Path, &refused, findings})
	default:
		w.add(file, findings)
	}
	return nil
}

func (w *walk) one(
	ctx context.Context,
	files *resolve.Walker,
	rel string,
) (File, []diag.Finding, error) {
	it, err := files.Walked(
		ctx,
		w.root,
		rel,
		!w.named && !w.signed[rel],
	)
	if err != nil {
		f := diag.Errorf(codeOf(err), 0, 0, "%s", err)
		f.Path = w.root.Display(rel)
		f.Message = strings.TrimPrefix(f.Message, "reading "+f.Path+": ")
		return File{Space: w.root.Label(), Path: f.Path}, []diag.Finding{f}, nil
	}
	if w.whole && it.Ref.IsZero() && it.Verdict.Code == diag.HashMismatch {
		return fileOf(it), nil, nil // manifests reported the file already
	}
	f := fileOf(it)
	if w.p.Explain &&
		!it.Verdict.OK() &&
		!it.Ref.IsZero() {
		f.Steps = w.p.Trust.Explain(it.Verdict, w.p.Resolver.TrustInput(it))
	}
	if w.p.Each != nil && !it.Ref.IsZero() {
		err = w.p.Each(ctx, it)
	}
	findings := findingsOf(ctx, w.p.Resolver, it)
	if len(findings) == 0 && err == nil {
		w.p.Resolver.MarkPlain(it)
	}
	return f, findings, err
}

func codeOf(err error) diag.Code {
	if c := diag.CodeOf(err); c != "" {
		return c
	}
	return diag.FileSystemError
}

func fileOf(it *resolve.Item) File {
	ref := ""
	if !it.Ref.IsZero() {
		ref = it.Ref.String()
	}
	return File{
		Ref:     ref,
		Space:   it.Root.Label(),
		Path:    it.Path(),
		Digest:  it.Digest,
		Support: it.Support(),
		Verdict: it.Verdict,
	}
}

// findingsOf returns the reason of a refusing verdict, then warnings, findings
// about metadata, and lints.
func findingsOf(ctx context.Context, r *resolve.Resolver, it *resolve.Item) []diag.Finding {
	if old := it.OfOriginal(); old != nil {
		return []diag.Finding{*old}
	}
	var fs []diag.Finding
	if !it.Verdict.OK() && !outOfUse(it) {
		fs = append(fs, verdictFinding(it))
	}
	for _, f := range it.Verdict.Findings {
		if f.Severity == diag.SeverityWarning || it.Verdict.OK() {
			fs = append(fs, f)
		}
	}
	fs = append(fs, unread(it)...)
	fs = append(fs, it.Findings...)
	fs = append(fs, r.Lint(ctx, it)...)
	fs = append(fs, sealedCopy(it)...)
	if it.Skipped {
		return diag.WithPath(fs, it.Path())
	}
	if it.Type.Ext != "" {
		fs = append(fs, hidden.Layout(it.Bytes)...)
	} else if !it.Root.Bundled() {
		fs = append(fs, unfitForBundle(it)...)
	}
	return diag.WithPath(fs, it.Path())
}

// outOfUse reports whether the signer of an item is not trusted for it, and the item
// is not used: grants do not have to include the reserved ids of a bundle. The
// manifest covers its bytes, and rye audit lists it.
func outOfUse(it *resolve.Item) bool {
	return it.Root.ReadOnly() &&
		!it.Root.Provides(it.Ref) &&
		(it.Verdict.Code == diag.Scope || it.Verdict.Code == diag.KeyUnknown)
}

// unread returns the hidden characters of an item that was refused for another reason, for
// example because it is unsigned. Its reader has to know them before signing it.
func unread(it *resolve.Item) []diag.Finding {
	if it.Verdict.OK() ||
		it.Ref.IsZero() ||
		slices.ContainsFunc(it.Verdict.Findings, func(f diag.Finding) bool { return f.Code == diag.HiddenChars }) {
		return nil
	}
	return trust.Hidden(string(it.Ref.Kind), it.Bytes)
}

// verdictFinding returns the reason of a refusal at the position of its cause.
func verdictFinding(it *resolve.Item) diag.Finding {
	f := diag.Errorf(it.Verdict.Code, 0, 0, "%s", it.Verdict.Reason())
	for _, at := range it.Verdict.Findings {
		if at.Code == f.Code {
			f.Line = at.Line
			f.Column = at.Column
			f.Fix = at.Fix
			f.Reason = at.Reason
			f.Facts = at.Facts
			if f.Code == diag.HiddenChars {
				f.Message = at.Message // the reason repeats the line number
			}
			break
		}
	}
	if it.Ref.IsZero() && f.Code == diag.Unsigned {
		return f.WithReason("not_an_item")
	}
	return f
}

// finish sorts the report, so that it does not depend on the order of judging.
func (w *walk) finish() *Report {
	slices.SortFunc(w.report.Files, func(a, b File) int {
		return strings.Compare(a.Path, b.Path)
	})
	diag.Sort(w.report.Findings)
	w.report.Findings = slices.CompactFunc(w.report.Findings, diag.Finding.Equal) // a parser and the verdict may report the same
	return &w.report
}
