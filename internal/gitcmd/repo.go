package gitcmd

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
)

// Repo has the paths of a repository. They are absolute.
type Repo struct {
	*Git
	GitDir    string // of this work tree
	CommonDir string // shared by all work trees
	WorkTree  string // "" for a bare repository, and inside a GitDir
	Prefix    string // the directory of Git below WorkTree, "" or ending in "/"
	SHA256    bool
}

// Repo finds the repository of the directory. The error is SOURCE_NOT_FOUND if
// there is none.
func (g *Git) Repo(ctx context.Context) (*Repo, error) {
	// --show-toplevel fails outside a work tree; the values before it are printed.
	out, err := g.run(ctx, nil, "rev-parse", "--absolute-git-dir", "--path-format=absolute", "--git-common-dir",
		"--show-object-format", "--show-prefix", "--show-toplevel")
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) < 4 || len(lines) > 5 {
		if err == nil {
			err = diag.New(diag.ExecutionFailed, "running git rev-parse: it printed %d lines, want 5", len(lines))
		}
		return nil, err
	}
	r := &Repo{
		Git:       g,
		GitDir:    filepath.FromSlash(lines[0]),
		CommonDir: filepath.FromSlash(lines[1]),
		SHA256:    lines[2] == "sha256",
		Prefix:    lines[3],
	}
	if len(lines) == 5 {
		r.WorkTree = filepath.FromSlash(lines[4])
	}
	return r, nil
}

// Index returns the path of the index in use.
func (r *Repo) Index() string {
	file, ok := proc.Lookup(r.env, "GIT_INDEX_FILE")
	if ok && file != "" {
		return file
	}
	return filepath.Join(r.GitDir, "index")
}

// HooksDir returns the directory of the hooks that git runs.
func (r *Repo) HooksDir(ctx context.Context) (string, error) {
	cmd := r.command(ctx)
	cmd.Args = []string{r.path, "rev-parse", "--git-path", "hooks"} // without our own core.hooksPath
	if r.WorkTree != "" {
		cmd.Dir = r.WorkTree // where git runs hooks, and the base of a relative path
	}
	out, err := output(ctx, cmd, nil, "rev-parse")
	if err != nil {
		return "", err
	}
	dir := filepath.FromSlash(strings.TrimSuffix(string(out), "\n"))
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(cmd.Dir, dir)
	}
	return dir, nil
}

// Configuration returns the output of git config --list -z --show-origin: every setting that
// applies, with the file that has it. It starts no other program.
func (g *Git) Configuration(ctx context.Context) ([]byte, error) {
	cmd := g.command(ctx)
	cmd.Args = []string{g.path, "config", "--list", "-z", "--show-origin", "--includes"} // without our own settings
	return output(ctx, cmd, nil, "config")
}

// Follow changes the index as a change of HEAD from one commit to another does: entries that are
// as in the old commit, "" for none, become the entries of the new commit. It is an error if
// another change of the same file is staged, and then the index stays as it is.
func (g *Git) Follow(ctx context.Context, from, to string) error {
	if from == "" {
		r, err := g.Repo(ctx)
		if err != nil {
			return err
		}
		from = r.EmptyTree()
	}
	_, err := g.guarded(ctx, nil, "read-tree", "-i", "-m", from, to)
	return err
}

// Setting returns the values of a setting of git, none if it is not set.
func (g *Git) Setting(ctx context.Context, name string) ([]string, error) {
	out, err := g.run(ctx, nil, "config", "-z", "--get-all", name)
	if len(out) == 0 {
		return nil, nil // git exits with 1 if it is not set
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), err
}

// Resolve returns the tree that a revision names: a commit, a tag, a tree, or
// COMMIT:DIRECTORY. The error is VERSION_NOT_FOUND if there is none.
func (g *Git) Resolve(ctx context.Context, rev string) (string, error) {
	if rev == "" || strings.HasPrefix(rev, "-") || strings.ContainsAny(rev, "\x00\n") {
		return "", diag.New(diag.Usage, "resolving revision %q: not a revision", rev)
	}
	oid := rev
	err := error(nil)
	if strings.Contains(rev, ":") { // the text after the colon is a path
		oid, err = g.revParse(ctx, rev)
	}
	if err == nil {
		oid, err = g.revParse(ctx, oid+"^{tree}")
	}
	if diag.CodeOf(err) == diag.ExecutionFailed {
		return "", diag.New(diag.VersionNotFound, "resolving revision %q: the repository has no such tree", rev).
			WithReason("no_revision")
	}
	return oid, err
}

func (g *Git) revParse(ctx context.Context, rev string) (string, error) {
	out, err := g.run(ctx, nil, "rev-parse", "--verify", "--end-of-options", rev)
	if err != nil {
		return "", err
	}
	words := strings.Fields(string(out)) // some versions of git repeat the option
	if len(words) == 0 {
		return "", diag.New(diag.ExecutionFailed, "running git rev-parse: it printed nothing")
	}
	return words[len(words)-1], nil
}

// MergeBase returns a best common ancestor of two commits. The error is
// VERSION_NOT_FOUND if one of them does not exist or if they have none.
func (g *Git) MergeBase(ctx context.Context, a, b string) (string, error) {
	out, err := g.run(ctx, nil, "merge-base", "--end-of-options", a, b)
	lines := strings.Fields(string(out))
	if err != nil || len(lines) == 0 {
		return "", diag.New(diag.VersionNotFound, "finding the merge base of %s and %s: there is none", a, b).WithReason("no_revision")
	}
	return lines[0], nil
}

// Head returns the tree of the current commit, or the empty tree before the
// first one.
func (r *Repo) Head(ctx context.Context) (string, error) {
	tree, err := r.Resolve(ctx, "HEAD")
	if diag.CodeOf(err) == diag.VersionNotFound {
		return r.EmptyTree(), nil
	}
	return tree, err
}

// EmptyTree returns the name of the empty tree, which git accepts in every
// repository.
func (r *Repo) EmptyTree() string {
	if r.SHA256 {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	}
	return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
}
