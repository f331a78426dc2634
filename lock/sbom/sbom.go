// Package sbom converts a lock to a bill of materials in CycloneDX 1.6: bundles with
// their signers and hashes, workspace members, the system bundle, the items with their
// chains and with what they use, and the dependencies. Equal locks give equal documents.
//
// It reads no file, uses no network and does not check that the lock is valid.
package sbom

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
)

// Params contains the input of a document. Lock is required.
type Params struct {
	Lock    *lock.Lock
	Project string      // its name, or ""
	Program string      // the version of rye
	System  lock.System // its system bundle; zero writes none
	Epoch   string      // SOURCE_DATE_EPOCH, seconds; "" writes no time
	Serial  string      // a UUID; "" writes none
}

// root is the ref of the project itself.
const root = "project"

// New returns the document of a lock.
func New(p Params) (*Document, error) {
	d := &Document{
		Schema:  "http://cyclonedx.org/schema/bom-1.6.schema.json",
		Format:  "CycloneDX",
		Spec:    "1.6",
		Version: 1,
		Metadata: Metadata{
			Tools:     Tools{Components: []Component{{Type: "application", Name: "rye", Version: p.Program}}},
			Component: Component{Type: "application", Ref: root, Name: cmp.Or(p.Project, root)},
		},
		Components: []Component{},
	}
	if p.Serial != "" {
		d.Serial = "urn:uuid:" + p.Serial
	}
	var err error
	if d.Metadata.Timestamp, err = timestamp(p.Epoch); err != nil {
		return nil, err
	}
	w := &writer{Document: d, refs: map[string]string{}, needs: map[string][]string{root: nil}}
	if err := w.bundles(p.Lock); err != nil {
		return nil, err
	}
	w.system(p.System)
	w.members(p.Lock)
	w.items(p.Lock)
	w.finish()
	return d, nil
}

func timestamp(epoch string) (string, error) {
	if epoch == "" {
		return "", nil
	}
	n, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil || n < 0 || n > 253402300799 { // the year 9999
		return "", diag.New(diag.Usage, "reading SOURCE_DATE_EPOCH %q: it is not a number of seconds", epoch)
	}
	return time.Unix(n, 0).UTC().Format(time.RFC3339), nil
}

// writer collects components and their dependencies.
type writer struct {
	*Document
	refs  map[string]string // of a bundle, by id
	needs map[string][]string
}

func (w *writer) add(c Component, needs ...string) {
	if _, known := w.needs[c.Ref]; !known {
		w.Components = append(w.Components, c)
	}
	w.needs[c.Ref] = append(w.needs[c.Ref], needs...)
}

func (w *writer) needed(mods []lock.Module) []string {
	var out []string
	for _, m := range mods {
		if ref := w.refs[m.ID.String()]; ref != "" {
			out = append(out, ref)
		}
	}
	return out
}

func (w *writer) bundles(l *lock.Lock) error {
	for _, m := range l.Members {
		w.refs[m.Name()] = memberRef(m)
	}
	for _, b := range l.Bundles {
		w.refs[b.ID.String()] = purl(b)
	}
	for _, b := range l.Bundles {
		w.add(
			component(b, w.refs[b.ID.String()]),
			w.needed(b.Needs)...,
		)
		if b.Require != "" {
			w.needs[root] = append(
				w.needs[root],
				w.refs[b.ID.String()],
			)
		}
	}
	return nil
}

func component(b lock.Bundle, ref string) Component {
	c := Component{
		Type:    "library",
		Ref:     ref,
		Name:    b.ID.String(),
		Version: b.Version,
		Purl:    ref,
	}
	if len(b.Signers) > 0 {
		c.Supplier = &Supplier{Name: strings.Join(b.Signers, ", ")}
	}
	if b.Manifest != (item.Digest{}) {
		c.Hashes = []Hash{{"SHA-256", b.Manifest.Hex()}}
	}
	if at := repository(b.URL); at != "" {
		c.External = []External{{"vcs", at}}
	}
	for _, f := range []struct {
		name   string
		values []string
	}{
		{"sum", []string{b.Sum}},
		{"ref", []string{b.Ref}},
		{"tag", []string{b.Tag}},
		{"commit", []string{b.Commit}},
		{"tree", []string{b.Tree}},
		{"replace", []string{b.Replace.String()}},
		{"signer", b.Signers},
		{"capability", b.Caps},
		{"executable", b.Exec},
		{"use", b.Use},
	} {
		for _, v := range f.values {
			if v != "" {
				c.Properties = append(c.Properties, Property{"rye:" + f.name, v})
			}
		}
	}
	return c
}

func (w *writer) system(s lock.System) {
	if s == (lock.System{}) {
		return
	}
	ref := "pkg:generic/" + quotePath(s.ID) + "@" + quote(s.Version) + "?sum=" + quote(s.Sum)
	w.add(Component{
		Type:       "library",
		Ref:        ref,
		Name:       s.ID,
		Version:    s.Version,
		Purl:       ref,
		Properties: []Property{{"rye:sum", s.Sum}},
	})
	w.needs[root] = append(w.needs[root], ref)
}

func memberRef(m lock.Member) string {
	return "member:" + m.Path
}

func (w *writer) members(l *lock.Lock) {
	for _, m := range l.Members {
		ref := memberRef(m)
		w.add(Component{
			Type:       "application",
			Ref:        ref,
			Name:       m.Name(),
			Properties: []Property{{"rye:folder", m.Path}, {"rye:manifest", m.Manifest}},
		}, w.needed(m.Needs)...)
		w.needs[root] = append(w.needs[root], ref)
	}
}

// items adds each item, the elements of its chain, each of which depends on the next,
// and the items that it uses.
func (w *writer) items(l *lock.Lock) {
	for _, it := range l.Items {
		self := lock.Link{Ref: it.Ref, Digest: it.Digest}
		w.needs[root] = append(w.needs[root], linkRef(self))
		for i, link := range it.Chain {
			var next []string
			if i+1 < len(it.Chain) {
				next = []string{linkRef(it.Chain[i+1])}
			}
			w.add(element(link), next...)
		}
		var uses []string
		for _, link := range it.Uses {
			w.add(element(link))
			uses = append(uses, linkRef(link))
		}
		w.add(element(self), uses...)
	}
}

func linkRef(l lock.Link) string {
	return l.Ref.String() + "@" + l.Digest.String()
}

func element(l lock.Link) Component {
	return Component{
		Type:   "file",
		Ref:    linkRef(l),
		Name:   l.Ref.String(),
		Hashes: []Hash{{"SHA-256", l.Digest.Hex()}},
	}
}

// finish sorts the components and writes the dependencies.
func (w *writer) finish() {
	slices.SortFunc(w.Components, func(a, b Component) int {
		return cmp.Or(
			cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.Ref, b.Ref),
		)
	})
	for _, c := range append([]Component{w.Metadata.Component}, w.Components...) {
		on := slices.Clone(w.needs[c.Ref])
		slices.Sort(on)
		w.Dependencies = append(w.Dependencies, Dependency{c.Ref, slices.Compact(on)})
	}
}
