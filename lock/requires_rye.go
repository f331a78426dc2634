package lock

import (
	"regexp"
	"strings"
	"sync"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/yamlx"
)

// requiresRyeKey is the key of the versions of rye that may use a project.
const requiresRyeKey = "requires_rye"

// ryeBound is one comparator of a range, for example >=v0.4.0.
type ryeBound struct{ op, version string }

// parseRyeRange reads comparators that are joined by spaces. Missing parts of a
// version are zeros, and the v is optional.
func parseRyeRange(s string) ([]ryeBound, error) {
	var out []ryeBound
	for _, word := range strings.Fields(s) {
		version := strings.TrimLeft(word, "<>=")
		op := word[:len(word)-len(version)]
		version = "v" + strings.TrimPrefix(version, "v")
		switch {
		case op != ">" && op != ">=" && op != "<" && op != "<=":
			return nil, diag.New(diag.ValidationFailed, "%q does not begin with >=, >, <= or <", word)
		case !semver.IsValid(version) || semver.Build(version) != "":
			return nil, diag.New(diag.ValidationFailed, "%q: %q is not a version such as 0.4 or 0.4.1", word, strings.TrimPrefix(version, "v"))
		}
		out = append(out, ryeBound{op, semver.Canonical(version)})
	}
	if len(out) == 0 {
		return nil, diag.New(diag.ValidationFailed, "it is empty: write for example \">=0.4 <2\"")
	}
	return out, nil
}

// includes reports whether a version is in the range. A pre-release of an upper bound
// is not below it: with <2, v2.0.0-rc.1 is too new.
func (b ryeBound) includes(version string) bool {
	c := semver.Compare(version, b.version)
	switch b.op {
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	case "<=":
		return c <= 0
	}
	release, _, pre := strings.Cut(version, "-")
	return c < 0 && (!pre || release != b.version || module.IsPseudoVersion(version))
}

// quotedLine finds the key in a file that is not valid YAML for this program.
var quotedLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^requires_rye:[ \t]*(?:"([^"\n]*)"|'([^'\n]*)')[ \t]*(?:#.*)?$`)
})

// RequiresRye returns the value of requires_rye in the text of a rye.yaml, "" if there
// is none. It ignores every other error of the file, which may be written for a newer
// program.
func RequiresRye(b []byte) string {
	if len(b) > MaxProjectFile {
		return ""
	}
	if doc, fs := yamlx.Parse(b); !diag.Failed(fs) {
		s, _ := doc.Root[requiresRyeKey].(string)
		return s
	}
	m := quotedLine().FindSubmatch(b)
	if m == nil {
		return ""
	}
	return string(m[1]) + string(m[2])
}

// CheckProgram returns a VERSION_MISMATCH error if the text of a rye.yaml requires
// another version of rye than program. known is false if the program's version is not
// comparable: a development build, or a commit of a repository without a release. A
// pseudo-version after a release is compared as the pre-release that it is. A range
// that is not valid is left to ParseProjectFile.
//
// It is checked when a project is opened, and is in no hash of the lock. Development builds pass
// with a note: their versions are not comparable.
func CheckProgram(b []byte, program string) (known bool, err error) {
	want := RequiresRye(b)
	bounds, bad := parseRyeRange(want)
	if want == "" || bad != nil {
		return true, nil
	}
	version := semver.Canonical(program) // without +dirty
	if version == "" || module.IsPseudoVersion(version) && strings.HasPrefix(version, "v0.0.0-") {
		return false, nil
	}
	for _, x := range bounds {
		if !x.includes(version) {
			return true, diag.New(diag.VersionMismatch, "reading %s: the project requires rye %s, this is rye %s", ProjectFileName, want, program).
				WithReason("requires_rye").WithDetail("range", want).WithDetail("version", program)
		}
	}
	return true, nil
}
