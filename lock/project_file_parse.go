package lock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
)

// ParseProjectFile reads rye.yaml. The Manifest is nil exactly when a finding is
// an error. Findings have no path.
func ParseProjectFile(b []byte) (*ProjectFile, []diag.Finding) {
	return parseManifest(b, "manifest", SectionNames())
}

// parseManifest reads a file that may have these sections.
func parseManifest(b []byte, what string, known []string) (*ProjectFile, []diag.Finding) {
	if len(b) > MaxProjectFile {
		return nil, []diag.Finding{diag.Errorf(diag.TooLarge, 0, 0,
			"the %s has %d bytes, at most %d are allowed", what, len(b), MaxProjectFile)}
	}
	// Before YAML, whose messages about the markers name something else.
	if line := conflictLine(b); line > 0 {
		f := diag.Errorf(diag.ParsingError, line, 1, "the file contains conflict markers of a merge")
		return nil, []diag.Finding{f.WithReason("conflict_markers")}
	}
	doc, fs := yamlx.Parse(b)
	if diag.Failed(fs) {
		return nil, fs
	}
	p := &manifestParser{
		doc: doc,
		r:   tree.NewReader(doc, diag.ValidationFailed),
		out: append(fs, hidden.Scan(b)...),
		m:   &ProjectFile{at: map[string]diag.Position{}},
	}
	if p.format() {
		p.sections(known)
	}
	out := append(p.out, p.r.Findings()...)
	diag.Sort(out)
	if diag.Failed(out) {
		return nil, out
	}
	return p.m, out
}

// SectionNames are the keys of the file, in the order in which rye writes them.
func SectionNames() []string {
	return []string{"rye", requiresRyeKey, "name", "require", "use", "prefer", "replace", "exclude", "workspace", "trust", "policy", "registries", "vendor", "export"}
}

// manifestParser fills in m. It keeps values that are not valid: m is not
// returned if there is a finding.
type manifestParser struct {
	doc *tree.Doc
	r   *tree.Reader
	out []diag.Finding // in addition to the findings of r
	m   *ProjectFile
}

// format reports whether the file has the format that this program reads. The
// fields of a newer format are not checked: each would be a finding.
func (p *manifestParser) format() bool {
	switch n, ok := p.r.Value("rye").(int64); {
	case !p.r.Has("rye"):
		p.r.Reject("rye", `is missing: the file needs a line "rye: %d", the number of its format`, Format)
	case !ok || n < 1:
		p.r.Reject("rye", `must be the number of the format: "rye: %d"`, Format)
	case n > Format:
		p.r.RejectErr("rye", diag.New(diag.VersionMismatch, "the file has format %d, this rye reads format %d: a newer rye is needed", n, Format))
		return false
	}
	return true
}

func (p *manifestParser) sections(known []string) {
	p.r.Only(known...)
	for _, s := range SectionNames() {
		if pos, ok := p.doc.Pos[s]; ok {
			p.m.at[s] = pos
		}
	}
	p.r.TextFunc(requiresRyeKey, func(s string) error {
		p.m.RequiresRye = s
		_, err := parseRyeRange(s)
		return err
	})
	p.name()
	p.m.Require = byID(p, "require", requirement)
	p.m.Use = byID(p, "use", usePatterns)
	p.m.Replace = byID(p, "replace", replacement)
	p.m.Exclude = byID(p, "exclude", excluded)
	p.prefer()
	p.workspace()
	p.trust()
	p.policy(known)
	p.registries()
	p.m.Vendor = p.r.Bool("vendor", false)
	p.export()
	p.collisions()
}

// export reads where copies for other programs are written.
func (p *manifestParser) export() {
	if !p.r.Has("export") {
		return
	}
	r := p.r.Map("export")
	r.Only("clients", "commit")
	r.Require("clients")
	p.m.Export.Clients = r.Texts("clients", distinct(func(string) error { return nil }))
	p.m.Export.Ignored = !r.Bool("commit", true)
}

// name reads a bundle id or a label.
func (p *manifestParser) name() {
	p.r.TextFunc("name", func(s string) error {
		if isLabel(s) {
			p.m.Label = s
			return nil
		}
		id, why := parseID(s)
		if why != "" {
			return fmt.Errorf("it must be a bundle id, for example github.com/acme/tools, or one word: %s", why)
		}
		if id.Kind == PathID {
			return errors.New("it must be a bundle id or one word, not a path")
		}
		p.m.ID = id
		return nil
	})
}

func isLabel(s string) bool {
	return s != "" &&
		len(s) <= 255 &&
		!strings.ContainsAny(s, "~") &&
		!strings.ContainsFunc(s, notInPath)
}

// byID reads a section whose keys are bundle ids.
func byID[T any](
	p *manifestParser,
	section string,
	read func(r *tree.Reader, key string, id ID) T,
) map[ID]T {
	r := p.r.Map(section)
	var out map[ID]T
	for _, key := range r.Keys() {
		id, err := ParseID(key)
		if err != nil {
			r.RejectErr(key, err)
			continue
		}
		if _, twice := out[id]; twice {
			r.Reject(key, "is the bundle %s, which is listed already", id)
			continue
		}
		if out == nil {
			out = map[ID]T{}
		}
		out[id] = read(r, key, id)
		p.m.at[section+" "+id.String()] = p.doc.At(r.Path(key))
	}
	return out
}

func requirement(r *tree.Reader, key string, id ID) string {
	if !r.Has(key) {
		r.Reject(key, "needs a version, for example v1.2.3, or a commit")
		return ""
	}
	return r.TextFunc(key, func(s string) error {
		if IsCommit(s) && id.Kind != PathID && id.Kind != RegistryID {
			return nil
		}
		return id.CheckVersion(s)
	})
}

// distinct returns a check that refuses empty and repeated strings, and those
// that check refuses.
func distinct(check func(string) error) func(string) error {
	seen := map[string]bool{}
	return func(s string) error {
		switch {
		case s == "":
			return errors.New("it is empty")
		case seen[s]:
			return fmt.Errorf("%q is listed twice", s)
		}
		seen[s] = true
		return check(s)
	}
}

func usePatterns(r *tree.Reader, key string, _ ID) []string {
	list := r.Texts(key, distinct(checkPattern))
	l, ok := r.Value(key).([]any)
	if ok && len(l) == 0 {
		r.Reject(key, "names no item: remove it to use all, or remove the requirement")
	}
	return list
}

// checkPattern accepts kind:pattern.
func checkPattern(s string) error {
	kind, pattern, found := strings.Cut(s, ":")
	if !found {
		return diag.New(diag.ValidationFailed, "reading %q: want kind:id, or a pattern such as tool:gh/*", s)
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

func replacement(r *tree.Reader, key string, id ID) (out Replacement) {
	r.TextFunc(key, func(s string) (err error) {
		if out, err = ParseReplacement(s); err == nil && out.ID == id {
			err = fmt.Errorf("%s cannot replace itself", id)
		}
		return err
	})
	return out
}

// ParseReplacement reads a local path, or a bundle id with an optional
// @version.
func ParseReplacement(s string) (Replacement, error) {
	name := s
	version := ""
	has := false
	i := strings.LastIndexByte(s, '@')
	if i > strings.LastIndexByte(s, '/') {
		name = s[:i]
		version = s[i+1:]
		has = true
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
	return Replacement{ID: id, Version: version}, nil
}

func excluded(r *tree.Reader, key string, id ID) []string {
	return r.Texts(key, distinct(id.CheckVersion))
}

func (p *manifestParser) prefer() {
	r := p.r.Map("prefer")
	for _, key := range r.Keys() {
		ref, err := item.ParseRef(key, "")
		if err != nil {
			r.RejectErr(key, err)
			continue
		}
		r.TextFunc(key, func(s string) error {
			id, err := ParseID(s)
			if p.m.Prefer == nil {
				p.m.Prefer = map[string]ID{}
			}
			p.m.Prefer[ref.String()] = id
			p.m.at["prefer "+ref.String()] = p.doc.At(r.Path(key))
			return err
		})
	}
}

// registries reads the pinned log key of each registry.
func (p *manifestParser) registries() {
	r := p.r.Map("registries")
	for _, host := range r.Keys() {
		if why := wrongRegistry(host); why != "" {
			r.Reject(host, "is not the host of a registry: %s", why)
			continue
		}
		at := r.Map(host)
		at.Only("key")
		if !at.Has("key") {
			at.Reject("key", "is missing: the key of the log of %s", host)
			continue
		}
		if p.m.Registries == nil {
			p.m.Registries = map[string]string{}
		}
		p.m.Registries[host] = at.TextFunc("key", CheckLogKey)
		p.m.at["registries "+host] = p.doc.At(r.Path(host))
	}
}

func (p *manifestParser) workspace() {
	if p.r.Has("workspace") {
		p.m.Workspace = p.r.Texts("workspace", distinct(checkMember))
	}
}

// checkMember accepts a pattern of member directories.
func checkMember(s string) error {
	rest, ok := strings.CutPrefix(s, "./")
	switch {
	case !ok || strings.Contains("/"+rest+"/", "/../") || strings.Contains(s, `\`):
		return fmt.Errorf("%q is not a directory below this one, as ./directory or ./directory/*", s)
	case glob.IsPattern(rest):
		if fs := glob.Check(rest); len(fs) > 0 {
			return fmt.Errorf("reading pattern %q: %s", s, fs[0].Message)
		}
	}
	return nil
}
