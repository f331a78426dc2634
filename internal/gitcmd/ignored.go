package gitcmd

import (
	"bytes"
	"context"
	"slices"
	"strings"
)

// Ignored returns which paths, relative to the directory of Git, the rules of the
// repository and the user exclude. A tracked file is not ignored. If git fails, no
// path is.
func (g *Git) Ignored(ctx context.Context, paths []string) map[string]bool {
	c := *g // check-ignore refuses to start with literal pathspecs
	c.env = slices.DeleteFunc(slices.Clone(g.env), func(kv string) bool { return strings.HasPrefix(kv, "GIT_LITERAL_PATHSPECS=") })
	out, err := c.guarded(ctx, strings.NewReader(strings.Join(paths, "\x00")+"\x00"), "check-ignore", "-z", "--stdin")
	ignored := map[string]bool{}
	if err != nil && len(out) == 0 {
		return ignored
	}
	for _, p := range bytes.Split(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		ignored[string(p)] = true
	}
	return ignored
}

// IgnoredIn returns Ignored for a directory. Without git, or outside of a work tree, no path
// is ignored.
func IgnoredIn(p Params) func(ctx context.Context, paths []string) map[string]bool {
	return func(ctx context.Context, paths []string) map[string]bool {
		git, err := New(p)
		if err != nil {
			return nil
		}
		return git.Ignored(ctx, paths)
	}
}
