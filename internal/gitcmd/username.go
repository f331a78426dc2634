package gitcmd

import (
	"context"
	"strings"
)

// UserName returns user.name of git's configuration as it is in dir, "" without git or
// without a name.
func UserName(ctx context.Context, dir string, environ []string) string {
	g, err := New(Params{Dir: dir, Environ: environ})
	if err != nil {
		return ""
	}
	out, err := g.run(ctx, nil, "config", "--get", "user.name")
	name := strings.TrimSpace(string(out))
	if err != nil || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		return ""
	}
	return name
}
