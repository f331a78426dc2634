package source

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

const aiDir = ".ai"

// Carried reports whether a file of a repository's folder belongs to the
// bundle: what lies in .ai and is not of one machine or project, the manifests
// of bundles with their signatures, and rye.yaml, which says what the bundle
// requires. Nothing else is fetched, hashed or installed.
func Carried(p string) bool {
	first, rest, below := strings.Cut(p, "/")
	if !below {
		return p == lock.ManifestFile
	}
	folder, inside, _ := strings.Cut(rest, "/")
	switch {
	case first != aiDir:
		return false
	case folder == "bundles":
		return isManifest(inside)
	}
	return !ownFolder(folder)
}

// CarriedFolder reports whether a folder can hold a file that is carried.
func CarriedFolder(p string) bool {
	first, rest, below := strings.Cut(p, "/")
	folder, inside, _ := strings.Cut(rest, "/")
	switch {
	case first != aiDir:
		return false
	case !below:
		return true
	case folder == "bundles":
		return inside == "" || bundle.CheckID(inside) == nil
	}
	return !ownFolder(folder)
}

// ownFolder reports whether a folder below .ai stays where it is: bundles carry
// no trust, and nothing that only one machine knows.
func ownFolder(folder string) bool {
	switch strings.ToLower(folder) {
	case "bundles", "trust", "trusted_keys", "keys", "threads", "cache":
		return true
	}
	return false
}

// isManifest reports whether p, below .ai/bundles, is the manifest of a bundle
// or one of its signatures.
func isManifest(p string) bool {
	dir, name := path.Split(p)
	return strings.HasPrefix(name, "manifest.yaml") && bundle.CheckID(strings.TrimSuffix(dir, "/")) == nil
}

// CheckPath returns nil when a carried path is one that every system can hold.
func CheckPath(p string) error {
	if p == lock.ManifestFile {
		return nil
	}
	if rest, ok := strings.CutPrefix(p, aiDir+"/bundles/"); ok && isManifest(rest) {
		p = aiDir + "/" + rest // the rules for any other file hold for it too
	}
	return bundle.CheckPath(p)
}

// Collisions returns a finding for each path that names the same file as
// another where case does not count.
func Collisions(paths []string) (out []diag.Finding) {
	seen := map[string]string{}
	for _, p := range slices.Sorted(slices.Values(paths)) {
		for at := p; at != "."; at = path.Dir(at) {
			if was, taken := seen[fold(at)]; taken && was != at {
				f := diag.Errorf(diag.PathEscape, 0, 0, "path %q is the same as %q where case does not count", at, was)
				f.Path = p
				out = append(out, f)
				break
			}
			seen[fold(at)] = at
		}
	}
	return out
}

// fold maps names that a case-insensitive file system takes for one name to one
// string.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return unicode.ToLower(least)
	}, s)
}
