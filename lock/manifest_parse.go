package lock

import (
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
)

// ParseManifest reads rye.yaml. The Manifest is nil exactly when a finding is
// an error. Findings have no path.
func ParseManifest(b []byte) (*Manifest, []diag.Finding) {
	return parseManifest(b, "manifest", sectionNames())
}

// parseManifest reads a file that may have these sections.
func parseManifest(b []byte, what string, known []string) (*Manifest, []diag.Finding) {
	if len(b) > MaxManifest {
		return nil, []diag.Finding{diag.Errorf(diag.TooLarge, 0, 0,
			"the %s has %d bytes, at most %d are allowed", what, len(b), MaxManifest)}
	}
	doc, fs := yamlx.Parse(b)
	if diag.Failed(fs) {
		return nil, fs
	}
	p := &manifestParser{doc: doc, out: append(fs, hidden.Scan(b)...), m: &Manifest{at: map[string]diag.Pos{}}}
	if p.format() {
		p.sections(known)
	}
	diag.Sort(p.out)
	if diag.Failed(p.out) {
		return nil, p.out
	}
	return p.m, p.out
}

// sectionNames are the keys of the file, in the order in which rye writes them.
func sectionNames() []string {
	return []string{"rye", "name", "require", "use", "prefer", "replace", "exclude", "workspace", "trust", "policy", "vendor"}
}

type manifestParser struct {
	doc *tree.Doc
	out []diag.Finding
	m   *Manifest
}

func (p *manifestParser) bad(at, format string, args ...any) {
	p.fault(diag.ValidationFailed, at, format, args...)
}

func (p *manifestParser) fault(code diag.Code, at, format string, args ...any) {
	pos := p.doc.At(at)
	p.out = append(p.out, diag.Errorf(code, max(pos.Line, 1), pos.Column, format, args...))
}

// wrong reports an error value at a place.
func (p *manifestParser) wrong(at string, err error) {
	p.fault(diag.CodeOf(err), at, "%s", err)
}

// format reports whether the file has the format that this program reads:
// nothing else in a later one is worth a finding.
func (p *manifestParser) format() bool {
	v, present := p.doc.Root["rye"]
	switch n, ok := v.(int64); {
	case !present:
		p.bad("", `the line "rye: %d" is missing, which names the format`, Format)
	case !ok || n < 1:
		p.bad("rye", `rye must be the number of the format: "rye: %d"`, Format)
	case n > Format:
		p.fault(diag.VersionMismatch, "rye", "the file has format %d, this rye reads format %d: a newer rye is needed", n, Format)
		return false
	}
	return true
}

func (p *manifestParser) sections(known []string) {
	p.onlyKeys(p.doc.Root, "", known)
	for _, s := range sectionNames() {
		if pos, ok := p.doc.Pos[s]; ok {
			p.m.at[s] = pos
		}
	}
	p.name()
	p.m.Require = byID(p, "require", p.requirement)
	p.m.Use = byID(p, "use", p.patterns)
	p.m.Replace = byID(p, "replace", p.replacement)
	p.m.Exclude = byID(p, "exclude", p.excluded)
	p.prefer()
	p.workspace()
	p.trust()
	p.policy()
	if v, present := p.doc.Root["vendor"]; present {
		var ok bool
		if p.m.Vendor, ok = v.(bool); !ok {
			p.bad("vendor", "vendor must be true or false")
		}
	}
	p.collisions()
}

func (p *manifestParser) onlyKeys(m map[string]any, at string, known []string) {
	for key := range m {
		if slices.Contains(known, key) {
			continue
		}
		if near := suggest.Nearest(key, known); near != "" {
			p.bad(tree.Join(at, key), "unknown key %q: did you mean %q?", key, near)
			continue
		}
		p.bad(tree.Join(at, key), "unknown key %q: the keys here are %s", key, strings.Join(known, ", "))
	}
}

// name reads a bundle id, or a label that nobody can require.
func (p *manifestParser) name() {
	v, present := p.doc.Root["name"]
	s, ok := v.(string)
	if !present {
		return
	}
	id, why := parseID(s)
	switch {
	case !ok:
		p.bad("name", "the name must be text: put it in quotes")
	case isLabel(s):
		p.m.Name = s
		return
	case why != "":
		p.bad("name", "the name must be a bundle id, as github.com/acme/tools, or one word: %s", why)
	case id.Kind == PathID:
		p.bad("name", "the name must be what others can require, not a path")
	}
	p.m.Name = id.String()
}

func isLabel(s string) bool {
	return s != "" && len(s) <= 255 && !strings.ContainsAny(s, "~") && !strings.ContainsFunc(s, notInPath)
}

// mapping returns a section that may be absent or empty.
func (p *manifestParser) mapping(section string) map[string]any {
	v := p.doc.Root[section]
	m, ok := v.(map[string]any)
	if v != nil && !ok {
		p.bad(section, "%s must be a mapping", section)
	}
	return m
}

// byID reads a section whose keys are bundle ids, in the order of its text.
func byID[T any](p *manifestParser, section string, read func(at string, id ID, v any) (T, bool)) map[string]T {
	m := p.mapping(section)
	out := make(map[string]T, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		at := tree.Join(section, key)
		id, err := ParseID(key)
		if err != nil {
			p.wrong(at, err)
			continue
		}
		canonical := id.String()
		if _, twice := out[canonical]; twice {
			p.bad(at, "%q is the bundle %s, which stands here already", key, canonical)
			continue
		}
		if v, ok := read(at, id, m[key]); ok {
			out[canonical] = v
			p.m.at[section+" "+canonical] = p.doc.At(at)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func (p *manifestParser) requirement(at string, id ID, v any) (string, bool) {
	s, ok := v.(string)
	switch {
	case !ok && v != nil:
		p.bad(at, "the version of %s must be text: put it in quotes", id)
		return "", false
	case !ok:
		p.bad(at, "%s needs a version, as v1.2.3, or a commit", id)
		return "", false
	case IsCommit(s) && id.Kind != PathID && id.Kind != RegistryID:
		return s, true
	}
	if err := id.CheckVersion(s); err != nil {
		p.wrong(at, err)
		return "", false
	}
	return s, true
}

// texts reads a list of texts without repetition.
func (p *manifestParser) texts(at string, v any, what string) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		p.bad(at, "%s must be a list", what)
		return nil, false
	}
	var out []string
	seen := make(map[string]bool, len(list))
	for i, v := range list {
		s, text := v.(string)
		switch {
		case !text || s == "":
			p.bad(tree.Index(at, i), "%s must hold texts", what)
			ok = false
		case seen[s]:
			p.bad(tree.Index(at, i), "%q stands twice", s)
			ok = false
		default:
			seen[s] = true
			out = append(out, s)
		}
	}
	return out, ok
}

func (p *manifestParser) patterns(at string, id ID, v any) ([]string, bool) {
	list, ok := p.texts(at, v, "use of "+id.String())
	for i, s := range list {
		if err := checkPattern(s); err != nil {
			p.wrong(tree.Index(at, i), err)
			ok = false
		}
	}
	if ok && len(list) == 0 {
		p.bad(at, "use of %s names no item: remove it to use all, or remove the requirement", id)
	}
	return list, ok && len(list) > 0
}

// checkPattern accepts kind:pattern.
func checkPattern(s string) error {
	kind, pattern, found := strings.Cut(s, ":")
	if !found {
		return diag.New(diag.ValidationFailed, "reading %q: want kind:id, or a pattern as tool:gh/*", s)
	}
	if err := item.CheckKind(item.Kind(kind)); err != nil {
		return err
	}
	if !glob.IsPattern(pattern) {
		return item.CheckID(pattern)
	}
	if fs := glob.Check(pattern); diag.Failed(fs) {
		return diag.New(diag.ValidationFailed, "reading pattern %q: %s", pattern, fs[0].Message)
	}
	return nil
}

func (p *manifestParser) replacement(at string, id ID, v any) (Replacement, bool) {
	s, _ := v.(string)
	r, err := ParseReplacement(s)
	if err != nil {
		p.wrong(at, err)
		return r, false
	}
	if r.ID == id.String() {
		p.bad(at, "%s cannot replace itself", id)
		return r, false
	}
	return r, true
}

// ParseReplacement reads a local path, or a bundle id with an optional
// @version.
func ParseReplacement(s string) (Replacement, error) {
	name, version, has := s, "", false
	if i := strings.LastIndexByte(s, '@'); i > strings.LastIndexByte(s, '/') {
		name, version, has = s[:i], s[i+1:], true
	}
	id, err := ParseID(name)
	if err != nil {
		return Replacement{}, err
	}
	if id.Kind == PathID {
		id, err = ParseID(s)
		return Replacement{Path: id.Repo}, err
	}
	if has && !IsCommit(version) {
		if err := id.CheckVersion(version); err != nil {
			return Replacement{}, err
		}
	}
	return Replacement{ID: id.String(), Version: version}, nil
}

func (p *manifestParser) excluded(at string, id ID, v any) ([]string, bool) {
	list, ok := p.texts(at, v, "exclude of "+id.String())
	for i, s := range list {
		if err := id.CheckVersion(s); err != nil {
			p.wrong(tree.Index(at, i), err)
			ok = false
		}
	}
	return list, ok && len(list) > 0
}

func (p *manifestParser) prefer() {
	for key, v := range p.mapping("prefer") {
		at := tree.Join("prefer", key)
		ref, err := item.ParseRef(key, "")
		if err != nil {
			p.wrong(at, err)
			continue
		}
		s, _ := v.(string)
		id, err := ParseID(s)
		if err != nil {
			p.wrong(at, err)
			continue
		}
		if p.m.Prefer == nil {
			p.m.Prefer = map[string]string{}
		}
		p.m.Prefer[ref.String()] = id.String()
		p.m.at["prefer "+ref.String()] = p.doc.At(at)
	}
}

func (p *manifestParser) workspace() {
	v := p.doc.Root["workspace"]
	if v == nil {
		return
	}
	list, _ := p.texts("workspace", v, "workspace")
	for i, s := range list {
		at := tree.Index("workspace", i)
		rest, ok := strings.CutPrefix(s, "./")
		switch {
		case !ok || strings.Contains("/"+rest+"/", "/../") || strings.Contains(s, `\`):
			p.bad(at, "a member of the workspace is a folder below this one: ./folder or ./folder/*")
		case glob.IsPattern(rest):
			for _, f := range glob.Check(rest) {
				p.bad(at, "pattern %q: %s", s, f.Message)
			}
		}
	}
	p.m.Workspace = list
}
