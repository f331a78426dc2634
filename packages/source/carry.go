package source

import (
	"path"
	"strings"

	"github.com/ryeos/rye/bundle"
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
