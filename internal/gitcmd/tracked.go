package gitcmd

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Tracked reports whether git tracks any file in the folder dir, in whichever
// repository that folder lies. Without a repository it tracks none.
func Tracked(ctx context.Context, dir string, environ []string) (bool, error) {
	environ = slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") })
	g, err := New(Params{Dir: dir, Environ: environ})
	if err != nil {
		return false, err
	}
	out, err := g.run(ctx, nil, "ls-files", "-z", "--", ".")
	if diag.CodeOf(err) == diag.SourceNotFound {
		return false, nil
	}
	return len(out) > 0, err
}
