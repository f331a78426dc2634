package bundle

import (
	"path"
	"strings"
	"unicode"

	"golang.org/x/mod/module"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
)

// Outside reports whether a directory below .ai is never part of a bundle: bundles bring
// no other bundles, no trust documents and no data of one machine.
func Outside(folder string) bool {
	switch strings.ToLower(folder) {
	case "bundles", "adopted", "trust", "trusted_keys", "keys", "threads", "cache":
		return true
	}
	return false
}

// CheckPath returns nil if p can be a file of a bundle on every system: rye.yaml,
// or a canonical path below .ai, without names that a system reserves, reads as
// .git or cannot display, and not in a directory that bundles exclude.
func CheckPath(p string) error {
	if why := wrongPath(p, nil); why != "" {
		return diag.New(diag.PathEscape, "reading path %q: %s", p, why)
	}
	return nil
}

// wrongPath returns why a path is refused, "" if it is accepted. It adds to right, which
// may be nil, the elements that it examined, and does not examine them again: the files
// of a bundle share their directories.
func wrongPath(p string, right map[string]bool) string {
	first, rest, _ := strings.Cut(p, "/")
	folder, _, _ := strings.Cut(rest, "/")
	switch {
	case p == requiresName:
		return ""
	case len(p) > MaxPath:
		return "it is too long"
	case first != dir || rest == "":
		return "it is not below " + dir
	case path.Clean(p) != p:
		return "it is not canonical"
	case Outside(folder):
		return "a bundle excludes " + dir + "/" + folder
	}
	for elem := range strings.SplitSeq(rest, "/") {
		if right[elem] {
			continue
		}
		if why := wrongElement(elem); why != "" {
			return why
		}
		if right != nil {
			right[elem] = true
		}
	}
	return ""
}

func wrongElement(elem string) string {
	low := strings.ToLower(elem)
	switch {
	case module.CheckFilePath(elem) != nil:
		return "it has a name that some systems cannot store"
	case len(hidden.Scan([]byte(elem))) > 0 || strings.ContainsFunc(elem, decomposes):
		return "it contains characters that are invisible or have two encodings"
	case low == ".git" || shortGit(low):
		return "it passes through a .git directory"
	case low == "__pycache__" || strings.HasSuffix(low, ".pyc") || strings.HasSuffix(low, ".pyo"):
		return "a bundle excludes bytecode"
	case strings.HasSuffix(elem, " "):
		return "an element ends in a space"
	case len(elem) > 255:
		return "an element is too long"
	}
	return ""
}

// shortGit reports whether a name is the short form of .git on NTFS.
func shortGit(low string) bool {
	n, ok := strings.CutPrefix(low, "git~")
	return ok && n != "" && strings.Trim(n, "0123456789") == ""
}

// decomposes reports whether a letter has a second encoding that some file
// systems treat as the same name: conjoining jamo and compatibility ideographs.
// Combining marks are refused by module.CheckFilePath.
func decomposes(r rune) bool {
	return r >= 0x1100 && r <= 0x11ff || r >= 0xa960 && r <= 0xa97f || r >= 0xd7b0 && r <= 0xd7ff ||
		r >= 0xf900 && r <= 0xfaff || r >= 0x2f800 && r <= 0x2fa1f
}

// fold maps names that are one name on a case-insensitive file system to one
// string.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 {
			return unicode.ToLower(r)
		}
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return unicode.ToLower(least)
	}, s)
}

// names finds paths and directories that differ by case only. It maps the folded
// path to the path.
type names map[string]string

// add returns p, or a directory of p, and the other spelling that it collides with.
func (n names) add(p string) (mine, other string) {
	if was, taken := n[fold(p)]; taken {
		return p, strings.TrimSuffix(was, "/")
	}
	n[fold(p)] = p
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		was, taken := n[fold(d)]
		if !taken {
			n[fold(d)] = d + "/"
			continue
		}
		if was != d+"/" {
			return d, strings.TrimSuffix(was, "/")
		}
		break
	}
	return "", ""
}
