package source

import (
	"path"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/lock"
)

const aiDir = ".ai"

// Carried reports whether a file of a repository belongs to the bundle: files in
// .ai except files of one machine or project, manifests with their signatures, and
// rye.yaml with the requirements. No other file is fetched, hashed or installed.
func Carried(p string) bool {
	first, rest, below := strings.Cut(p, "/")
	if !below {
		return p == lock.ProjectFileName
	}
	folder, inside, _ := strings.Cut(rest, "/")
	switch {
	case first != aiDir:
		return false
	case folder == "bundles":
		return isManifest(inside)
	}
	return !bundle.Outside(folder)
}

// CarriedFolder reports whether a directory can contain a carried file.
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
	return !bundle.Outside(folder)
}

// isManifest reports whether p, below .ai/bundles, is the manifest of a bundle
// or one of its signatures.
func isManifest(p string) bool {
	dir, name := path.Split(p)
	return strings.HasPrefix(name, "manifest.yaml") && bundle.CheckID(strings.TrimSuffix(dir, "/")) == nil
}

// CheckPath returns an error for a carried path that some system cannot have.
func CheckPath(p string) error {
	if p == lock.ProjectFileName {
		return nil
	}
	rest, ok := strings.CutPrefix(p, aiDir+"/bundles/")
	if ok && isManifest(rest) {
		p = aiDir + "/" + rest // the rules for other files apply, too
	}
	return bundle.CheckPath(p)
}
