package bundle

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
)

// Parse reads a manifest, signed or not, and judges its form, not its
// signature. The Manifest is nil exactly when a finding is an error. Findings
// have no path.
func Parse(b []byte) (*Manifest, []diag.Finding) {
	if len(b) > MaxManifest {
		return nil, []diag.Finding{diag.Errorf(diag.TooLarge, 0, 0,
			"the manifest has %d bytes, at most %d are allowed", len(b), MaxManifest)}
	}
	if m, ok := canonical(b); ok {
		return m, nil
	}
	doc, fs := yamlx.Parse(b)
	if diag.Failed(fs) {
		return nil, fs
	}
	p := parser{doc: doc, out: fs}
	m := p.manifest()
	diag.Sort(p.out)
	if diag.Failed(p.out) {
		return nil, p.out
	}
	return m, p.out
}

// maxDescription is the longest description, in bytes.
const maxDescription = 4096

type parser struct {
	doc *tree.Doc
	out []diag.Finding
}

func (p *parser) bad(at, format string, args ...any) {
	p.fault(diag.ValidationFailed, at, format, args...)
}

func (p *parser) fault(code diag.Code, at, format string, args ...any) {
	pos := p.doc.At(at)
	p.out = append(p.out, diag.Errorf(code, max(pos.Line, 1), pos.Column, format, args...))
}

func (p *parser) manifest() *Manifest {
	p.onlyKeys(p.doc.Root, "", "bundle", "files")
	m := &Manifest{}
	if h := p.object(p.doc.Root, "", "bundle"); h != nil {
		p.header(m, h)
	}
	files := p.object(p.doc.Root, "", "files")
	if len(files) > MaxFiles {
		p.fault(diag.TooLarge, "files", "the manifest lists %d files, at most %d are allowed", len(files), MaxFiles)
		return m
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		m.Files = append(m.Files, p.file(path, files[path]))
	}
	p.paths(m.Files)
	return m
}

func (p *parser) onlyKeys(m map[string]any, at string, known ...string) {
	for key := range m {
		if !slices.Contains(known, key) {
			p.bad(tree.Join(at, key), "unknown field %q", key)
		}
	}
}

func (p *parser) object(m map[string]any, at, key string) map[string]any {
	o, ok := m[key].(map[string]any)
	if !ok {
		p.bad(tree.Join(at, key), "field %q must be a mapping", tree.Join(at, key))
	}
	return o
}

func (p *parser) text(m map[string]any, at, key string, required bool) string {
	v, present := m[key]
	s, ok := v.(string)
	if present && (!ok || s == "") || required && !present {
		p.bad(tree.Join(at, key), "field %q must be a text", tree.Join(at, key))
	}
	return s
}

func (p *parser) header(m *Manifest, h map[string]any) {
	p.onlyKeys(h, "bundle", "id", "version", "type", "description", "entrypoint", "created_at", "requires")
	m.ID = p.text(h, "bundle", "id", true)
	m.Version = p.text(h, "bundle", "version", true)
	m.Type = p.text(h, "bundle", "type", false)
	if m.Type == "" {
		m.Type = defaultType
	}
	m.Description = p.text(h, "bundle", "description", false)
	m.Entrypoint = p.text(h, "bundle", "entrypoint", false)
	m.CreatedAt = p.text(h, "bundle", "created_at", false)
	if h["requires"] != nil {
		need := p.object(h, "bundle", "requires")
		m.Requires = make(map[string]string, len(need))
		for id := range need {
			m.Requires[id] = p.text(need, "bundle.requires", id, true)
		}
	}
	for _, f := range m.headerFaults() {
		p.bad("bundle."+f.key, "%s", f.value)
	}
}

// headerFaults returns what is wrong with the header: the field and why.
func (m *Manifest) headerFaults() (out []field) {
	fault := func(key, why string) { out = append(out, field{key, why}) }
	if err := CheckID(m.ID); m.ID != "" && err != nil {
		fault("id", err.Error())
	}
	if m.Version != "" && !checkVersion(m.Version) {
		fault("version", "the version is not MAJOR.MINOR.PATCH")
	}
	if strings.Trim(m.Type, "abcdefghijklmnopqrstuvwxyz_") != "" {
		fault("type", "the type must be a lower-case word")
	}
	if len(m.Description) > maxDescription || !utf8.ValidString(m.Description) || strings.ContainsFunc(m.Description, unicode.IsControl) || len(hidden.Scan([]byte(m.Description))) > 0 {
		fault("description", "the description must be one line of at most 4096 bytes that can be seen")
	}
	if _, err := item.ParseRef(m.Entrypoint, item.Directive); m.Entrypoint != "" && err != nil {
		fault("entrypoint", err.Error())
	}
	if t, err := time.Parse(time.RFC3339, m.CreatedAt); m.CreatedAt != "" && (err != nil || t.UTC().Format(time.RFC3339) != m.CreatedAt) {
		fault("created_at", "created_at is not a time written YYYY-MM-DDTHH:MM:SSZ")
	}
	for id, v := range m.Requires {
		key := tree.Join("requires", id)
		if err := CheckID(id); err != nil {
			fault(key, err.Error())
		}
		if v != "" && !checkRequired(v) {
			fault(key, "the version is not MAJOR.MINOR.PATCH")
		}
	}
	return out
}

func (p *parser) file(path string, v any) File {
	at := tree.Join("files", path)
	f := File{Path: path}
	m, ok := v.(map[string]any)
	if !ok {
		p.bad(at, "file %q must be a mapping with sha256, size, mode and inline_signed", path)
		return f
	}
	p.onlyKeys(m, at, "sha256", "size", "mode", "inline_signed")
	sum, _ := m["sha256"].(string)
	if !decodeDigest(&f.Digest, sum) {
		p.bad(tree.Join(at, "sha256"), "sha256 of %q must be 64 lower-case hexadecimal digits, in quotes", path)
	}
	f.Size, ok = m["size"].(int64)
	if !ok || f.Size < 0 || f.Size > MaxFile {
		p.bad(tree.Join(at, "size"), "size of %q must be a number of bytes up to %d", path, MaxFile)
	}
	if mode := m["mode"]; mode != "0644" && mode != "0755" {
		p.bad(tree.Join(at, "mode"), "mode of %q must be \"0644\" or \"0755\", in quotes", path)
	}
	f.Executable = m["mode"] == "0755"
	if f.Signed, ok = m["inline_signed"].(bool); !ok {
		p.bad(tree.Join(at, "inline_signed"), "inline_signed of %q must be true or false", path)
	}
	return f
}

// paths checks every path and that no two are one where case does not count.
func (p *parser) paths(files []File) {
	seen := make(names, 2*len(files))
	for _, f := range files {
		at := tree.Join("files", f.Path)
		if err := CheckPath(f.Path); err != nil {
			p.fault(diag.CodeOf(err), at, "%s", err)
			continue
		}
		if mine, other := seen.add(f.Path); other != "" {
			p.fault(diag.PathEscape, at, "path %q and path %q are one where case does not count", mine, other)
		}
	}
}

func decodeDigest(d *item.Digest, s string) bool {
	if len(s) != 2*len(d) || strings.ToLower(s) != s {
		return false
	}
	_, err := hex.Decode(d[:], []byte(s))
	return err == nil
}
