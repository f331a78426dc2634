package lock

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/ryeos/rye/diag"
)

// LocalVersion is the version of a bundle that is a local directory.
const LocalVersion = "local"

// CheckVersion returns nil if v is a complete semantic version with the leading v:
// v1.2.3, v1.2.3-pre.1 or a pseudo-version.
func CheckVersion(v string) error {
	if why := wrongVersion(v); why != "" {
		return diag.New(diag.VersionMismatch, "reading version %q: %s", v, why)
	}
	return nil
}

func wrongVersion(v string) string {
	switch {
	case len(v) > 128:
		return "it is too long"
	case v == "":
		return "it is empty"
	case semver.IsValid("v" + v):
		return "write v" + v
	case !semver.IsValid(v):
		return "it is not vMAJOR.MINOR.PATCH"
	case semver.Build(v) != "":
		return "a version cannot have a + part"
	case semver.Canonical(v) != v:
		return "write " + semver.Canonical(v)
	}
	return ""
}

// IsCommit reports whether s is a commit or a prefix of one: 7 to 64 lower-case
// hexadecimal digits.
func IsCommit(s string) bool {
	return len(s) >= 7 && len(s) <= 64 && hexDigits(s)
}

func isObject(s string) bool {
	return (len(s) == 40 || len(s) == 64) && hexDigits(s)
}

func hexDigits(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}

// PseudoVersion returns the version of a commit without a tag. Older is the newest
// version among its ancestors, or "".
func PseudoVersion(id ID, older string, t time.Time, commit string) string {
	return module.PseudoVersion(id.Major, older, t, commit[:min(12, len(commit))])
}

// IsPseudo reports whether v is a pseudo-version.
func IsPseudo(v string) bool {
	return module.IsPseudoVersion(v)
}

// PseudoCommit returns the commit prefix in a pseudo-version, or "".
func PseudoCommit(v string) string {
	rev, err := module.PseudoVersionRev(v)
	if err != nil {
		return ""
	}
	return rev
}

// CompareVersions is a total order of the versions of one bundle.
func CompareVersions(a, b string) int {
	if c := semver.Compare(a, b); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// MaxVersion returns the newer of two versions of one bundle.
func MaxVersion(a, b string) string {
	if CompareVersions(a, b) < 0 {
		return b
	}
	return a
}

// Newest returns the version to which a bundle is updated: the newest release in
// the list that matches the id, is not excluded and is newer than the current one,
// or the current one. A pre-release is updated to newer pre-releases of the same
// release only.
func Newest(id ID, current string, versions, excluded []string) string {
	best := current
	for _, v := range versions {
		switch {
		case id.CheckVersion(v) != nil || IsPseudo(v) || slices.Contains(excluded, v):
		case semver.Prerelease(v) != "" && !sameRelease(v, current):
		default:
			best = MaxVersion(best, v)
		}
	}
	return best
}

// sameRelease reports whether two pre-releases belong to one release.
func sameRelease(v, current string) bool {
	return !IsPseudo(current) && semver.Prerelease(current) != "" &&
		strings.TrimSuffix(v, semver.Prerelease(v)) == strings.TrimSuffix(current, semver.Prerelease(current))
}

// NextVersion returns the version that replaces an excluded one: the oldest in the
// list that is newer than v, not excluded and not a pre-release, or "".
func NextVersion(id ID, v string, versions, excluded []string) string {
	best := ""
	for _, c := range versions {
		if id.CheckVersion(c) != nil ||
			CompareVersions(c, v) <= 0 ||
			semver.Prerelease(c) != "" ||
			slices.Contains(excluded, c) {
			continue
		}
		if best == "" || CompareVersions(c, best) < 0 {
			best = c
		}
	}
	return best
}
