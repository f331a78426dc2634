package gitcmd

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Ignored returns which paths, relative to the directory of Git, the rules of the
// repository and the user exclude. A tracked file is not ignored. The error names a path that git
// does not judge, such as a file in a submodule; the map then has the others, and is nil if git judges none.
func (g *Git) Ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	if err := g.readableRules(paths); err != nil {
		return nil, err
	}
	c := *g // check-ignore refuses to start with literal pathspecs
	c.env = slices.DeleteFunc(slices.Clone(g.env), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_LITERAL_PATHSPECS=")
	})
	a := asked{git: &c, out: map[string]bool{}, left: 200}
	a.ask(ctx, paths)
	if a.judged == 0 && a.err != nil {
		return nil, a.err
	}
	return a.out, a.err
}

// asked is what git has answered.
type asked struct {
	git    *Git
	out    map[string]bool
	judged int
	left   int   // more processes of git that may be started
	err    error // about a path that git does not judge
}

// ask asks git about paths. Git ends at the first one that it does not judge and reports none of those after it: they are
// asked in halves.
func (a *asked) ask(ctx context.Context, paths []string) {
	if a.left--; len(paths) == 0 || a.left < 0 || ctx.Err() != nil {
		return
	}
	out, err := a.git.guarded(
		ctx,
		strings.NewReader(strings.Join(paths, "\x00")+"\x00"),
		"check-ignore",
		"--verbose",
		"--non-matching",
		"-z",
		"--stdin",
	)
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") // for each path: the file of the rule, its line, the rule, and the path
	if len(fields) == 4*len(paths) {
		for f := range slices.Chunk(fields, 4) {
			if f[2] != "" && f[2][0] != '!' {
				a.out[f[3]] = true
			}
		}
		a.judged += len(paths)
		return
	}
	if err == nil {
		err = unreadable("check-ignore", string(out))
	}
	if a.err == nil || len(paths) == 1 {
		a.err = err
	}
	if len(paths) > 1 {
		a.ask(ctx, paths[:len(paths)/2])
		a.ask(ctx, paths[len(paths)/2:])
	}
}

// readableRules refuses a .gitignore that git would wait for, such as a pipe that a program in the sandbox made.
func (g *Git) readableRules(paths []string) error {
	seen := map[string]bool{}
	for _, p := range paths {
		for dir := path.Dir(filepath.ToSlash(p)); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			name := filepath.Join(g.dir, filepath.FromSlash(dir), ".gitignore")
			info, err := os.Lstat(name)
			if err == nil &&
				!info.Mode().IsRegular() &&
				info.Mode()&os.ModeSymlink == 0 &&
				!info.IsDir() {
				return diag.New(diag.NotRegular, "asking git which files it ignores: %s is not a regular file", name).
					WithReason("not_file").WithDetail("entry", name)
			}
		}
	}
	return nil
}
