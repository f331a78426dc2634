package env

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// KeyUsage is the text of --key.
const KeyUsage = "sign with this `KEY`: a fingerprint, an owner or a file"

// WithKey returns the environment with the key that --key names.
func WithKey(c *cli.Call, key string) *project.Env {
	e := Of(c)
	e.Key = key
	return e
}

// ProcessArgs are the words with which the process of a run or thread is started, with
// the global flags of this call.
func ProcessArgs(c *cli.Call, command ...string) []string {
	args := append(command, "--json")
	if c.Offline {
		args = append(args, "--offline")
	}
	if c.TrustRoot != "" {
		args = append(args, "--trust-root", c.Path(c.TrustRoot))
	}
	return args
}

// FromHere returns a path relative to the working directory.
func FromHere(c *cli.Call, path string) string {
	rel, err := filepath.Rel(c.Dir, path)
	if c.Dir != "" && err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// IsPseudo reports whether a version names a commit without a tag: it ends with a time of 14
// digits and the first 12 digits of the commit.
func IsPseudo(v string) bool {
	rest, commit, _ := cutLast(v, "-")
	_, at, found := cutLast(strings.ReplaceAll(rest, ".", "-"), "-")
	return found &&
		len(commit) == 12 &&
		strings.Trim(commit, "0123456789abcdef") == "" &&
		len(at) == 14 &&
		strings.Trim(at, "0123456789") == ""
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// ReleaseTag returns the version of this build if it is a release, else "".
func ReleaseTag(v cli.VersionInfo) string {
	if !strings.HasPrefix(v.Version, "v") ||
		strings.Contains(v.Version, "+") ||
		IsPseudo(v.Version) {
		return ""
	}
	return v.Version
}

// SpaceNames are the values of --space.
func SpaceNames() []string {
	return []string{string(space.Project), string(space.User), string(space.System)}
}

// RegistryCodes are the codes of a registry that is refused.
func RegistryCodes(more ...diag.Code) []diag.Code {
	return append(
		more,
		diag.KeyUnknown,
		diag.LogProof,
		diag.LogEquivocation,
		diag.Rollback,
		diag.Stale,
		diag.RegistryError,
		diag.Network,
	)
}

// build identifies this build of the program in the cache.
func build(v cli.VersionInfo) string {
	return fmt.Sprint(v.Version, " ", v.Revision, " ", v.Modified, " ", v.Go)
}

// PromptDirective is the directive that does what a text asks for.
func PromptDirective() item.Ref {
	return item.Ref{Kind: item.Directive, ID: "rye/agent/core/base"}
}
