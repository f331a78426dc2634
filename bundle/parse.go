package bundle

import (
	"cmp"
	"encoding/hex"
	"fmt"
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

// Parse reads a manifest and validates its form. It ignores the signature. The
// Manifest is nil exactly when a finding is an error. Findings have no path.
func Parse(b []byte) (*Manifest, []diag.Finding) {
	return parse(b, false)
}

// parse is Parse. accepted states that Parse has accepted this text before.
func parse(b []byte, accepted bool) (*Manifest, []diag.Finding) {
	if len(b) > MaxManifest {
		return nil, []diag.Finding{diag.Errorf(diag.TooLarge, 0, 0,
			"the manifest has %d bytes, at most %d are allowed", len(b), MaxManifest)}
	}
	if m, ok := canonical(b, accepted); ok {
		return m, nil
	}
	doc, fs := yamlx.Parse(b)
	if diag.Failed(fs) {
		return nil, fs
	}
	if f := ofOriginal(doc); f != nil {
		return nil, []diag.Finding{*f}
	}
	m, found := readManifest(doc)
	fs = append(fs, found...)
	diag.Sort(fs)
	if diag.Failed(fs) {
		return nil, fs
	}
	return m, fs
}

// originalManifest is the reason of the finding about a manifest of the Python original.
const originalManifest = "original_manifest"

// ofOriginal returns a finding if a manifest was written by the Python version of rye,
// else nil: its files have inline_signed, and none has a size or a mode. It replaces the findings
// about each of the files.
func ofOriginal(doc *tree.Doc) *diag.Finding {
	files, _ := doc.Root["files"].(map[string]any)
	old := false
	for _, v := range files {
		entry, _ := v.(map[string]any)
		_, inline := entry["inline_signed"]
		_, size := entry["size"]
		_, mode := entry["mode"]
		if size || mode {
			return nil
		}
		old = old || inline
	}
	if !old {
		return nil
	}
	header, _ := doc.Root["bundle"].(map[string]any)
	id, _ := header["id"].(string)
	at := doc.At("files")
	f := diag.Errorf(diag.ValidationFailed, max(at.Line, 1), at.Column, "this manifest has the format of the Python original, which rye does not read").
		WithReason(originalManifest, "id", id)
	return &f
}

// maxDescription is the longest description, in bytes.
const maxDescription = 4096

func readManifest(doc *tree.Doc) (*Manifest, []diag.Finding) {
	r := tree.NewReader(doc, diag.ValidationFailed)
	r.Only("bundle", "files")
	r.Require("bundle", "files")
	m := &Manifest{}
	if r.Has("bundle") {
		m.readHeader(r.Map("bundle"))
	}
	files := r.Map("files")
	if n := len(files.Keys()); n > MaxFiles {
		r.RejectErr("files", diag.New(diag.TooLarge, "the manifest lists %d files, at most %d are allowed", n, MaxFiles))
		return m, r.Findings()
	}
	for _, path := range files.Keys() {
		m.Files = append(m.Files, readFile(files, path))
	}
	checkPaths(files)
	return m, r.Findings()
}

func (m *Manifest) readHeader(r *tree.Reader) {
	r.Only("id", "version", "type", "description", "entrypoint", "created_at", "requires")
	r.Require("id", "version")
	for _, key := range []string{"type", "description", "entrypoint", "created_at"} {
		if r.Value(key) == "" {
			r.Reject(key, "is empty")
		}
	}
	m.ID = r.Text("id")
	m.Version = r.Text("version")
	m.Type = cmp.Or(r.Text("type"), defaultType)
	m.Description = r.Text("description")
	m.Entrypoint = r.Text("entrypoint")
	m.CreatedAt = r.Text("created_at")
	requires := r.Map("requires")
	if r.Has("requires") {
		requires.Require(requires.Keys()...)
		m.Requires = r.TextMap("requires")
	}
	for _, f := range m.headerFaults() {
		if f.id != "" {
			requires.RejectErr(f.id, f.err)
			continue
		}
		r.RejectErr(f.key, f.err)
	}
}

// headerFault is an invalid field of the header. The id is set for an entry of
// requires.
type headerFault struct {
	key, id string
	err     error
}

func (m *Manifest) headerFaults() (out []headerFault) {
	// The errors have no code: an invalid id in a file is not a usage error.
	fault := func(key, id, format string, args ...any) {
		out = append(out, headerFault{key, id, fmt.Errorf(format, args...)})
	}
	if err := CheckID(m.ID); m.ID != "" && err != nil {
		fault("id", "", "%v", err)
	}
	if m.Version != "" && !checkVersion(m.Version) {
		fault("version", "", "it is not MAJOR.MINOR.PATCH")
	}
	if strings.Trim(m.Type, "abcdefghijklmnopqrstuvwxyz_") != "" {
		fault("type", "", "it must be a lower-case word")
	}
	if len(m.Description) > maxDescription ||
		!utf8.ValidString(m.Description) ||
		strings.ContainsFunc(m.Description, unicode.IsControl) ||
		len(hidden.Scan([]byte(m.Description))) > 0 {
		fault("description", "", "it must be one line of at most %d bytes without invisible characters", maxDescription)
	}
	_, err := item.ParseRef(m.Entrypoint, item.Directive)
	if m.Entrypoint != "" && err != nil {
		fault("entrypoint", "", "%v", err)
	}
	if t, err := time.Parse(time.RFC3339, m.CreatedAt); m.CreatedAt != "" &&
		(err != nil || t.UTC().Format(time.RFC3339) != m.CreatedAt) {
		fault("created_at", "", "it is not a time of the form YYYY-MM-DDTHH:MM:SSZ")
	}
	for id, v := range m.Requires {
		if err := CheckID(id); err != nil {
			fault("requires", id, "%v", err)
		}
		if v != "" && !checkRequired(v) {
			fault("requires", id, "the version is not MAJOR.MINOR.PATCH")
		}
	}
	return out
}

func readFile(files *tree.Reader, path string) File {
	r := files.Map(path)
	r.Only("sha256", "size", "mode", "inline_signed")
	r.Require("sha256", "size", "mode", "inline_signed")
	f := File{Path: path, Size: r.Int("size", 0, 0, MaxFile), Signed: r.Bool("inline_signed", false)}
	sum := r.Text("sha256")
	if sum != "" && !decodeDigest(&f.Digest, sum) {
		r.Reject("sha256", "must be 64 lower-case hexadecimal digits")
	}
	f.Executable = r.Enum("mode", "0644", "0644", "0755") == "0755"
	return f
}

// checkPaths reports invalid paths, and paths that differ in case only.
func checkPaths(files *tree.Reader) {
	seen := make(names, 2*len(files.Keys()))
	for _, path := range files.Keys() {
		if err := CheckPath(path); err != nil {
			files.RejectErr(path, err)
			continue
		}
		if mine, other := seen.add(path); other != "" {
			files.RejectErr(path, diag.New(diag.PathEscape, "path %q and path %q differ in case only", mine, other))
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
