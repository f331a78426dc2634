package lock

import (
	"bytes"
	"github.com/ryeos/rye/lock/treehash"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/item"
)

// ParseLock reads rye.lock. The Lock is nil exactly when a finding is an
// error. Findings have no path. A valid text that is not written as Render writes
// it, for example after a manual merge, gives a warning.
func ParseLock(b []byte) (*Lock, []diag.Finding) {
	return parseLock(b, &itemReader{links: map[linkText]Link{}})
}

// parseLock is ParseLock. Without a reader of items it makes records of all entries.
func parseLock(b []byte, items *itemReader) (*Lock, []diag.Finding) {
	if fs := precheck(b, MaxLock, "lock"); len(fs) > 0 {
		return nil, damaged(fs)
	}
	if line := conflictLine(b); line > 0 {
		f := diag.Errorf(diag.ParsingError, line, 1, "the file contains conflict markers of a merge")
		return nil, []diag.Finding{f.WithReason("conflict")}
	}
	if b[len(b)-1] != '\n' {
		return nil, truncated(b)
	}
	p := &lockParser{
		l:       &Lock{},
		items:   items,
		text:    string(b),
		ordered: true,
		lines:   map[entryName]int{},
	}
	first, _, _ := strings.Cut(p.text, "\n")
	canonical := false
	if p.format(scanRecord(first, 1)) {
		canonical = p.file()
	}
	if !canonical && !diag.Failed(p.out) {
		p.notCanonical(b)
	}
	diag.Sort(p.out)
	if diag.Failed(p.out) {
		return nil, damaged(p.out)
	}
	return p.l, p.out
}

// truncated returns the findings of a text whose last line has no end. What else is wrong,
// such as half an address, follows from it, except an address in a complete line that is
// not the one of its bundle: to remove a line end does not hide that.
func truncated(b []byte) []diag.Finding {
	out := damaged([]diag.Finding{at(
		diag.ParsingError,
		hidden.Position(b, len(b)),
		"the last line has no line end: the file is truncated",
	)})
	complete := b[:bytes.LastIndexByte(b, '\n')+1]
	if len(complete) > 0 {
		_, fs := ParseLock(complete)
		out = append(out, slices.DeleteFunc(fs, func(f diag.Finding) bool {
			return f.Code != diag.LockRepointed
		})...)
	}
	diag.Sort(out)
	return out
}

// damaged adds the reason of a text that rye did not write like this. rye does not resolve
// such a lock again: it would lose what the lock records.
func damaged(fs []diag.Finding) []diag.Finding {
	for i := range fs {
		if fs[i].Code == diag.ParsingError && fs[i].Reason == "" {
			fs[i].Reason = "damaged_lock"
		}
	}
	return fs
}

// precheck refuses a text that is too large, empty, not UTF-8 or has CR line ends.
func precheck(b []byte, limit int, name string) []diag.Finding {
	if len(b) > limit {
		return []diag.Finding{diag.Errorf(
			diag.TooLarge,
			0,
			0,
			"the %s has %d bytes, at most %d are allowed",
			name,
			len(b),
			limit,
		)}
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return []diag.Finding{diag.Errorf(diag.ParsingError, 1, 1, "the %s is empty", name)}
	}
	if fs := hidden.Encoding(b); len(fs) > 0 {
		return fs
	}
	if i := bytes.IndexByte(b, '\r'); i >= 0 {
		f := at(diag.Encoding, hidden.Position(b, i), "the file has CR line ends")
		return []diag.Finding{f.WithReason("crlf")}
	}
	return nil
}

// maxFindings is the number of findings after which parsing stops, since the file
// is of another kind.
const maxFindings = 200

func at(code diag.Code, pos diag.Position, format string, args ...any) diag.Finding {
	return diag.Errorf(code, pos.Line, pos.Column, format, args...)
}

type lockParser struct {
	l       *Lock
	out     []diag.Finding
	items   *itemReader // nil: make records of all entries
	text    string
	ordered bool              // each item so far is after the one before, in the order of Render
	lines   map[entryName]int // of the entries; of items only if they are not ordered
}

func (p *lockParser) fault(code diag.Code, pos diag.Position, format string, args ...any) {
	p.out = append(p.out, at(code, pos, format, args...))
}

// file reads the head and the entries. It reports whether Render writes the lock like this.
func (p *lockParser) file() bool {
	const shortest = 100 // bytes of an entry, so that a hostile text reserves little memory
	p.l.Items = slices.Grow(p.l.Items, min(
		strings.Count(p.text, itemStart),
		len(p.text)/shortest,
	))
	c := &canonical{text: p.text}
	above := len(p.text) // the length of the text before the items
	inForm := true       // the items have the text of Render, and are at the end
	for e := range entryTexts(p.text) {
		if e.start == 0 {
			p.head(scanRecord(e.text, e.line))
			continue
		}
		items := len(p.l.Items)
		hasForm := p.oneEntry(e)
		switch isItem := len(p.l.Items) > items; {
		case isItem:
			above = min(above, e.start)
			c.starts = append(c.starts, e.start)
			inForm = inForm && hasForm
		case items > 0:
			inForm = false
		}
		if len(p.out) >= maxFindings {
			break
		}
	}
	inForm = inForm && p.ordered
	if inForm && len(p.l.Items) > 0 {
		c.items = p.l.Items
		p.l.canonical = c
	}
	p.l.Sort()
	return inForm && string(p.l.aboveText()) == p.text[:above]
}

// oneEntry reads an entry. It reports whether it is an item with the text of Render.
func (p *lockParser) oneEntry(e entryText) bool {
	if p.items != nil {
		if it, ok := p.items.read(e.text); ok {
			if !p.inOrder(it.Ref) {
				p.repeated(e, entryName{"item", it.Ref.String()})
			}
			p.l.Items = append(p.l.Items, it)
			return true
		}
	}
	r := scanRecord(e.text, e.line)
	ref, err := item.ParseRef(r.name, "")
	if r.kind != "item" || err != nil || !p.inOrder(ref) {
		p.repeated(e, entryName{r.kind, r.name})
	}
	n := len(p.l.Items)
	p.entry(r)
	return len(p.l.Items) > n && p.l.Items[n].hasText(e.text)
}

// inOrder reports whether an item is after all items so far.
func (p *lockParser) inOrder(ref item.Ref) bool {
	n := len(p.l.Items)
	return p.ordered &&
		(n == 0 || CompareRefs(p.l.Items[n-1].Ref, ref) < 0)
}

// repeated reports a second entry of one name. Items that follow in order have no lines: they
// get them when the first one is not in order.
func (p *lockParser) repeated(e entryText, name entryName) {
	if name.kind == "item" && p.ordered {
		p.ordered = false
		for before := range entryTexts(p.text[:e.start]) {
			if r := before.name(); r.kind == "item" {
				p.lines[entryName{r.kind, r.name}] = r.line
			}
		}
	}
	line := e.line + 1
	if first := p.lines[name]; first > 0 && name.name != "" {
		p.fault(
			diag.ParsingError,
			diag.Position{Line: line, Column: 1},
			"a second entry for %s %s, the first is in line %d",
			name.kind,
			name.name,
			first,
		)
	}
	p.lines[name] = line
}

// format reads the first line.
func (p *lockParser) format(head record) bool {
	at := diag.Position{Line: 1, Column: 1}
	if len(head.fields) == 0 ||
		head.fields[0].key != "rye-lock" ||
		head.fields[0].at.Line != 1 {
		p.fault(diag.ParsingError, at, `the first line must be "rye-lock: %d.%d"`, LockFormat, p.l.Written())
		return false
	}
	text := head.fields[0].raw
	major, minor, _ := strings.Cut(text, ".")
	n, err := strconv.Atoi(major)
	m, err2 := strconv.Atoi(minor)
	switch {
	case err != nil || n < 1 || minor != "" && (err2 != nil || m < 1) || strings.HasSuffix(text, "."):
		p.fault(diag.ParsingError, at, "%q is not a format number", clip(text))
		return false
	case n > LockFormat:
		p.fault(diag.VersionMismatch, at, "the file has format %d, this rye reads format %d: a newer rye is needed", n, LockFormat)
		return false
	}
	p.l.Minor = m
	return true
}

func (p *lockParser) head(r record) {
	f := p.fields(r)
	f.take("rye-lock")
	p.l.Manifest = f.checked("manifest", true, CheckSum)
	if words := f.words("system", 3); words != nil { // format 1.0
		p.l.System = System{words[0], words[1], words[2]}
		f.test("system", CheckSum(words[2]))
	}
	p.l.Revoked = f.revoked()
	p.l.Extra = f.rest()
}

func (p *lockParser) entry(r record) {
	f := p.fields(r)
	switch {
	case r.kind == "bundle" && r.name != "":
		p.l.Bundles = append(p.l.Bundles, f.bundle(r.name))
	case r.kind == "adopted" && r.name != "" && p.l.Minor >= adoptedMinor:
		p.l.Adopted = append(p.l.Adopted, f.adopted(r.name))
	case r.kind == "registry" && r.name != "":
		p.l.Registries = append(p.l.Registries, f.registry(r.name))
	case r.kind == "member" && r.name != "":
		p.l.Members = append(p.l.Members, f.member(r.name))
	case r.kind == "item" && r.name != "":
		p.l.Items = append(p.l.Items, f.item(r.name))
	case r.name == "":
	case p.l.Minor > LockMinor:
		p.fault(diag.VersionMismatch, f.pos, "entries of the kind %q need format %d.%d, this rye reads %d.%d: a newer rye is needed",
			r.kind, LockFormat, p.l.Minor, LockFormat, LockMinor)
	default:
		p.fault(diag.ParsingError, f.pos, "unknown kind of entry %q: the kinds are bundle, adopted (from format 1.2 on), registry, member and item", r.kind)
	}
}

func (f *fieldReader) bundle(name string) Bundle {
	var b Bundle
	id, why := parseID(name)
	if why == "" && id.String() != name {
		why = "the canonical id is " + id.String()
	}
	if why != "" {
		f.p.fault(diag.ParsingError, f.pos, "reading bundle id %q: %s", name, why)
		f.rest()
		return b
	}
	b.ID = id
	b.Version = f.checked("version", true, id.CheckVersion)
	b.Require = f.checked("require", false, func(s string) error {
		return checkRequire(id, s)
	})
	b.Use = f.list("use", checkPattern)
	f.checked("replace", false, func(s string) (err error) {
		b.Replace, err = parseReplace(s)
		return err
	})
	f.origin(&b, id)
	b.Exec = f.list("exec", treehash.CheckPath)
	b.Manifest = f.digest("manifest", false)
	b.Signers = f.signers()
	b.Caps = f.list("caps", checkCapability)
	b.Needs = f.modules("needs")
	b.Via = f.modules("via")
	b.Extra = f.rest()
	return b
}

// origin reads the origin of a bundle. A replaced bundle and a directory have none.
func (f *fieldReader) origin(b *Bundle, id ID) {
	remote := b.Replace.IsZero() && id.Kind != PathID
	git := remote && id.Kind != RegistryID
	published := remote && id.Kind == RegistryID
	b.URL = f.checked("url", git, func(s string) error {
		return checkOrigin(id, s)
	})
	b.Ref = f.checked("ref", false, checkRef)
	b.Tag = f.checked("tag", false, checkObject)
	b.Commit = f.checked("commit", git, checkObject)
	b.Tree = f.checked("tree", git, checkObject)
	b.Archive = f.checked("archive", published, checkArchive)
	b.Log = f.checked("log", published, checkLogIndex)
	b.Sum = f.checked("sum", remote, CheckSum)
	if published && (b.URL != "" || b.Ref != "" || b.Commit != "" || b.Tree != "") ||
		!published && (b.Archive != "" || b.Log != "") {
		f.p.fault(diag.ParsingError, f.pos, "%s has fields of another source: a bundle of a registry has archive and log, others url, commit and tree", b.ID)
	}
	if !remote && (b.URL != "" || b.Commit != "" || b.Sum != "") {
		f.p.fault(diag.ParsingError, f.pos, "%s is replaced or is a directory: it cannot have url, commit or sum", b.ID)
	}
}

func (f *fieldReader) registry(name string) Registry {
	r := Registry{Host: name}
	if wrongRegistry(name) != "" {
		f.p.fault(diag.ParsingError, f.pos, "%q is not the host of a registry", name)
	}
	r.Key = f.checked("key", true, CheckLogKey)
	if words := f.words("checkpoint", 2); words != nil {
		r.Checkpoint = words[0] + " " + words[1]
		f.test("checkpoint", checkCheckpoint(words[0], words[1]))
	} else if !f.failed() {
		f.p.fault(diag.ParsingError, f.pos, "the field %q is missing", "checkpoint")
	}
	r.Extra = f.rest()
	return r
}

func (f *fieldReader) member(name string) Member {
	m := Member{Path: name}
	id, why := parseID(name)
	if why != "" ||
		id.Kind != PathID ||
		id.String() != name ||
		!strings.HasPrefix(name, "./") {
		f.p.fault(diag.ParsingError, f.pos, "%q is not a member directory, for example ./bundles/x", name)
	}
	f.checked("name", false, func(s string) (err error) {
		m.ID, err = parseCanonical(s)
		return err
	})
	m.Manifest = f.checked("manifest", true, CheckSum)
	m.Needs = f.modules("needs")
	m.Extra = f.rest()
	return m
}

func (f *fieldReader) item(name string) Item {
	ref, err := item.ParseRef(name, "")
	if err != nil {
		f.p.fault(diag.ParsingError, f.pos, "%s", err)
	}
	it := Item{
		Ref:    ref,
		Digest: f.digest("digest", true),
		Chain:  f.links("chain"),
		Uses:   f.links("uses"),
		Deps:   f.deps("deps"),
	}
	switch {
	case len(it.Chain) == 0 && err == nil && ref.Kind != item.Tool:
	case len(it.Chain) == 0:
		f.p.fault(diag.ParsingError, f.pos, "the chain of %s is missing", name)
	case it.Chain[0] != Link{it.Ref, it.Digest}:
		f.p.fault(diag.ParsingError, f.pos, "the chain of %s does not begin with the item itself", name)
	}
	it.Extra = f.rest()
	return it
}

// notCanonical warns about a text that differs from the canonical one of its format.
func (p *lockParser) notCanonical(b []byte) {
	rest := b
	want := []byte(nil)
	same := true
	for r := range p.l.inOrder() { // file has sorted the entries
		want = r.append(want[:0])
		if same = bytes.HasPrefix(rest, want); !same {
			break
		}
		rest = rest[len(want):]
	}
	if same && len(rest) == 0 {
		return
	}
	if same { // the text continues
		want = nil
	}
	equal := 0
	for equal < min(len(rest), len(want)) && rest[equal] == want[equal] {
		equal++
	}
	n := 1 + bytes.Count(
		b[:len(b)-len(rest)+equal],
		[]byte("\n"),
	)
	f := diag.Warnf(diag.Drift, n, 1, "from this line on the file is not in canonical form: order, quotes or blank lines differ")
	p.out = append(p.out, f.WithReason(otherForm))
}

const otherForm = "form"

// IsFormNote reports whether a finding of ParseLock is that the text is not canonical.
func IsFormNote(f diag.Finding) bool {
	return f.Reason == otherForm
}

// fieldReader takes the fields of one record one by one.
type fieldReader struct {
	p     *lockParser
	pos   diag.Position
	left  []field
	known []string
}

// fields reports lines that are not fields, and repeated fields.
func (p *lockParser) fields(r record) *fieldReader {
	f := &fieldReader{p: p, pos: diag.Position{Line: r.line, Column: 1}, known: make([]string, 0, 8)}
	for _, s := range r.stray[:min(len(r.stray), maxFindings)] {
		p.fault(diag.ParsingError, s.at, "%s", s.fault)
	}
	f.left = make([]field, 0, len(r.fields))
	repeated := repeats(r.fields)
	for i, x := range r.fields {
		if len(p.out) >= maxFindings {
			break
		}
		if repeated(i) {
			p.fault(diag.ParsingError, x.at, "the field %q is repeated", x.key)
			continue
		}
		f.left = append(f.left, x)
	}
	return f
}

// repeats returns a function that reports whether an earlier field has the key of a field. An
// entry has few fields, which are compared; a hostile file can have more.
func repeats(fields []field) func(i int) bool {
	const few = 16
	if len(fields) <= few {
		return func(i int) bool {
			return slices.ContainsFunc(fields[:i], func(before field) bool {
				return before.key == fields[i].key
			})
		}
	}
	first := map[string]int{}
	for i, x := range fields {
		if _, known := first[x.key]; !known {
			first[x.key] = i
		}
	}
	return func(i int) bool {
		return first[fields[i].key] < i
	}
}

func (f *fieldReader) take(key string) *field {
	f.known = append(f.known, key)
	for i, x := range f.left {
		if x.key != key {
			continue
		}
		f.left = slices.Delete(f.left, i, i+1)
		if x.fault != "" {
			f.p.fault(diag.ParsingError, x.at, "%s: %s", key, x.fault)
			return nil
		}
		return &x
	}
	return nil
}

// rest returns the remaining fields: with a warning if the format is a later one,
// else it reports them as errors.
func (f *fieldReader) rest() []Field {
	var out []Field
	for _, x := range f.left {
		if len(f.p.out) >= maxFindings && f.p.l.Minor == LockMinor {
			break
		}
		if f.p.l.Minor > LockMinor {
			f.p.out = append(f.p.out, diag.Warnf(diag.VersionMismatch, x.at.Line, x.at.Column,
				"the field %q needs format %d.%d, this rye reads %d.%d and ignores it", x.key, LockFormat, f.p.l.Minor, LockFormat, LockMinor))
			out = append(out, Field{x.key, x.raw})
			continue
		}
		hint := "the fields here are " + strings.Join(f.known, ", ")
		if near := suggest.Nearest(x.key, f.known); near != "" {
			hint = "did you mean " + strconv.Quote(near) + "?"
		}
		f.p.fault(diag.ParsingError, x.at, "unknown field %q: %s", x.key, hint)
	}
	return out
}
