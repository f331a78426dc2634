// Package bundle handles signed sets of files: it creates and parses manifests,
// verifies a directory against one, and opens the bundle that is compiled into
// the program.
//
// It does not decide which keys are trusted (the caller judges signatures), fetch
// or install bundles, or interpret items.
//
// # Format
//
// A bundle consists of the files below .ai of a directory and of rye.yaml next to
// .ai, which states the bundle's requirements. The directories bundles, trust,
// trusted_keys, keys, threads and cache below .ai belong to a machine or a project
// and are not published. The manifest is .ai/bundles/<id>/manifest.yaml, signed on
// line 1:
//
//	bundle:
//	  id: acme-tools
//	  version: "1.2.0"
//	  type: package
//	files:
//	  .ai/tools/acme/hello.py: {sha256: "…", size: 312, mode: "0644", inline_signed: true}
//
// Rendering is deterministic: the same files and the same parameters give the
// same bytes. Other YAML with the same meaning is accepted.
//
// # Limits
//
// Manifest 8 MiB and 20,000 files, one file 64 MiB, a path 512 bytes.
package bundle

import (
	"path"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Limits of a bundle.
const (
	MaxManifest = 8 << 20
	MaxFiles    = 20_000
	MaxFile     = 64 << 20
	MaxPath     = 512
)

const (
	dir          = ".ai"
	manifestName = "manifest.yaml"
	requiresName = "rye.yaml" // next to dir: the requirements of the bundle
	defaultType  = "package"
)

// Manifest describes a bundle and lists its files.
type Manifest struct {
	ID          string            `json:"id"`
	Version     string            `json:"version"` // semantic, without the leading v
	Type        string            `json:"type"`
	Description string            `json:"description,omitempty"`
	Entrypoint  string            `json:"entrypoint,omitempty"` // a ref, or the id of a directive
	CreatedAt   string            `json:"created_at,omitempty"` // RFC 3339, UTC
	Requires    map[string]string `json:"requires,omitempty"`   // bundle id: minimum version
	Files       []File            `json:"files"`                // sorted by path
}

// File is one line of a manifest.
type File struct {
	Path       string      `json:"path"` // relative to the bundle's directory: below .ai/, or rye.yaml
	Digest     item.Digest `json:"sha256"`
	Size       int64       `json:"size"`
	Executable bool        `json:"executable,omitempty"`    // mode 0755, else 0644
	Signed     bool        `json:"inline_signed,omitempty"` // the file has its own signature line
}

// Lists reports whether the manifest names a file.
func (m *Manifest) Lists(path string) bool {
	return listed(m, path)
}

// Mode renders the file's mode as the manifest writes it.
func (f File) Mode() string {
	if f.Executable {
		return "0755"
	}
	return "0644"
}

// bundlesDir contains manifests, and the installed bundles of a space.
const bundlesDir = dir + "/bundles/"

// ManifestPath returns the path of a bundle's manifest, from the directory that
// contains .ai.
func ManifestPath(id string) string {
	return bundlesDir + id + "/" + manifestName
}

// ManifestID is the inverse of ManifestPath. ok is false if p is not the path of
// a manifest. The id is not checked.
func ManifestID(p string) (id string, ok bool) {
	id, ok = strings.CutSuffix(p, "/"+manifestName)
	rest, below := strings.CutPrefix(id, bundlesDir)
	return rest, ok && below && rest != ""
}

// Subject returns the subject of the signature of a manifest. The caller takes the
// id from the manifest's path, not from its content.
func Subject(id string) sign.Subject {
	return sign.Subject{Use: sign.UseManifest, Kind: "bundle", ID: id}
}

// CheckID returns nil when id can name a bundle: segments of letters, digits,
// "_", "-" and "." joined by "/", each beginning with a letter, digit or "_".
func CheckID(id string) error {
	bad := func(format string, args ...any) error {
		return diag.New(diag.Usage, "reading bundle id %q: "+format, append([]any{id}, args...)...)
	}
	if len(id) > item.MaxID {
		return bad("it has %d bytes, at most %d are allowed", len(id), item.MaxID)
	}
	for seg := range strings.SplitSeq(id, "/") {
		if seg == "" {
			return bad("it is empty or has an empty segment")
		}
		i := strings.IndexFunc(seg, notIDRune)
		if i >= 0 || seg[0] == '-' || seg[0] == '.' {
			return bad("segment %q must be letters, digits, _, - and ., and may not begin with - or .", seg)
		}
	}
	err := CheckPath(path.Join(dir, "files", id))
	if err != nil {
		return bad("it cannot be a path on every system")
	}
	return nil
}

func notIDRune(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.')
}

// checkVersion accepts a semantic version; requires may write the leading v.
func checkVersion(v string) bool {
	return item.CheckVersion(v) == nil
}

func checkRequired(v string) bool {
	return semver.IsValid(v) && checkVersion(strings.TrimPrefix(v, "v")) || checkVersion(v)
}
