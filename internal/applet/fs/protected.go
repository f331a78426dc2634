package fs

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// checkProtected refuses the paths that control git or rye, in this project and
// in any project below it. Git's hooks and configuration run commands; rye's
// settings, trust, keys, bundles and locks decide what runs.
func checkProtected(rel, given string) error {
	names := strings.Split(rel, "/")
	if slices.ContainsFunc(names, func(name string) bool { return namesFile(name, ".git") }) {
		return diag.New(diag.PolicyDenied, "writing %q: tools do not write files below .git", given)
	}
	for i, name := range names[1:] {
		if !namesFile(names[i], ".ai") {
			continue
		}
		for _, dir := range protectedDirs() {
			if namesFile(name, dir) {
				return diag.New(diag.PolicyDenied, "writing %q: tools do not write files below .ai/%s", given, dir)
			}
		}
	}
	for _, name := range []string{"rye.lock", "rye.sum"} {
		if namesFile(names[len(names)-1], name) {
			return diag.New(diag.PolicyDenied, "writing %q: tools do not write %s", given, name)
		}
	}
	return nil
}

// protectedDirs are the protected directories below .ai. Drafts of items are in
// the others.
func protectedDirs() []string {
	return []string{"config", "trust", "trusted_keys", "keys", "bundles", "cache"}
}

// namesFile reports whether some file system takes name for want, which is in
// lower case: it knows case, NTFS's trailing dots and spaces, streams and short
// names, and the characters that HFS+ ignores.
func namesFile(name, want string) bool {
	name = strings.Map(dropIgnored, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.ToLower(strings.TrimRight(name, ". "))
	if name == want {
		return true
	}
	short := strings.TrimPrefix(want, ".")
	if len(short) == len(want) && len(want) <= 8 {
		return false // NTFS makes a short name only for long names and for a leading dot
	}
	number, ok := strings.CutPrefix(name, short[:min(6, len(short))]+"~")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// dropIgnored removes the characters that HFS+ ignores in a name.
func dropIgnored(r rune) rune {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}
