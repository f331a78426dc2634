package hook

import (
	"bufio"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/templates"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/githook"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/internal/revision"
	"github.com/ryeos/rye/internal/status"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/verify"
)

func Command() *cli.Command {
	return &cli.Command{
		Name:  "hook",
		Group: "Items",
		Usage: "sign items at a commit, verify them at a push",
		Long: `The hooks sign the staged items of a commit in git's index, and verify the revisions
that a push would publish. git does not run them for cherry-pick, rebase, am and
revert, or with --no-verify: run rye verify in CI as well.

The hooks do not sign what others wrote: bytes that another key signed, and unsigned
bytes that a commit of another branch has, however they came into the index. They do
not know the author of a file that was copied from elsewhere: read what you add.

A staged text that differs from its file, as after git add -p, is signed after a question
that shows the difference. Without a terminal the commit is refused: run
rye sign --staged at a terminal, then commit again.`,
		Subs: []*cli.Command{hookInstallCommand(), hookUninstallCommand(), hookRunCommand(), hookMergeCommand()},
	}
}

// hookInstallOptions are the flags of rye hook install.
type hookInstallOptions struct {
	print string
	merge bool
}

func hookInstallCommand() *cli.Command {
	var o hookInstallOptions
	return &cli.Command{
		Name:  "install",
		Usage: "install the git hooks of this repository",
		Long: `Installs pre-commit, pre-merge-commit and pre-push in git's hook directory, also with
core.hooksPath and in linked work trees. An existing hook is kept and runs first. One
installation serves all projects of the repository: every directory with a rye.yaml.
git config --add rye.exclude DIRECTORY leaves one out, for example test data.

It also sets a merge driver for .ai in .git/info/attributes: two changes of one item
merge without a conflict in the signature line, and the hook signs the result.

To use another hook manager, --print shows its settings, and --merge-driver sets the
merge driver only.`,
		Examples: []string{"rye hook install", "rye hook install --print lefthook"},
		Codes:    []diag.Code{diag.SourceNotFound, diag.FileSystemError},
		Flags: []cli.Flag{
			cli.String(&o.print, "print", "print settings for `MANAGER`: pre-commit, lefthook or husky").OneOf(hookManagers()...),
			cli.Bool(&o.merge, "merge-driver", "set the merge driver only"),
		},
		Exclusive: [][]any{{&o.print, &o.merge}},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runHookInstall(ctx, c, &o)
		},
	}
}

func runHookInstall(ctx context.Context, c *cli.Call, o *hookInstallOptions) error {
	if c.Given(&o.print) {
		return printHook(c, o.print)
	}
	install := InstallHooks
	if o.merge {
		install = installMerge
	}
	done, err := install(ctx, c)
	if err != nil {
		return err
	}
	return c.UI.Show(
		map[string]any{"hooks": done},
		func() { ShowHooks(c, done) },
	)
}

func InstallHooks(ctx context.Context, c *cli.Call) ([]githook.Installed, error) {
	h, err := revision.LocateHooks(ctx, env.Of(c))
	if err != nil {
		return nil, err
	}
	p := githook.InstallParams{Repo: h.Repo, Self: c.Self}
	done, err := githook.Install(ctx, p)
	if err != nil {
		return nil, err
	}
	merge, err := githook.InstallMerge(ctx, p)
	if h.Prefix != "" {
		c.UI.Note("rye: the hooks serve all projects of the repository %s", h.Repo.WorkTree)
	}
	return append(done, merge), err
}

func installMerge(ctx context.Context, c *cli.Call) ([]githook.Installed, error) {
	repo, err := env.Of(c).Repo(ctx)
	if err != nil {
		return nil, err
	}
	done, err := githook.InstallMerge(ctx, githook.InstallParams{Repo: repo, Self: c.Self})
	return []githook.Installed{done}, err
}

func ShowHooks(c *cli.Call, done []githook.Installed) {
	t := cli.NewTable("hooks")
	for _, d := range done {
		path := d.Path
		if d.Chains != "" {
			path += " (after " + d.Chains + ")"
		}
		t.Add(d.Status, path)
	}
	c.UI.Table(t)
}

// hookManagers are the other programs that manage hooks.
func hookManagers() []string {
	return []string{"pre-commit", "lefthook", "husky"}
}

func printHook(c *cli.Call, manager string) error {
	b, err := templates.Files.ReadFile("hook-" + manager + ".txt")
	if err != nil {
		return err
	}
	tag := cmp.Or(env.ReleaseTag(c.Program), "TAG # of a release; this rye is not one") // never a branch
	text := strings.ReplaceAll(string(b), "VERSION", tag)
	return c.UI.Show(
		map[string]string{"manager": manager, "text": text},
		func() { c.UI.Text(text) },
	)
}

func hookUninstallCommand() *cli.Command {
	return &cli.Command{
		Name:     "uninstall",
		Usage:    "remove the git hooks that rye installed",
		Long:     `Removes the hooks and the merge driver of rye hook install, and restores the previous hooks.`,
		Examples: []string{"rye hook uninstall"},
		Codes:    []diag.Code{diag.SourceNotFound, diag.FileSystemError},
		Run: func(ctx context.Context, c *cli.Call) error {
			repo, err := env.Of(c).Repo(ctx)
			if err != nil {
				return err
			}
			done, err := githook.Uninstall(ctx, repo)
			if err != nil {
				return err
			}
			merge, err := githook.UninstallMerge(ctx, repo)
			if err != nil {
				return err
			}
			done = append(done, merge)
			return c.UI.Show(
				map[string]any{"hooks": done},
				func() { ShowHooks(c, done) },
			)
		},
	}
}

// hookRunOptions are the flags of rye hook run.
type hookRunOptions struct{ indexOnly bool }

func hookRunCommand() *cli.Command {
	var o hookRunOptions
	return &cli.Command{
		Name:  "run",
		Usage: "run one hook; git calls this",
		Args:  "HOOK [ARG…]",
		Long: `pre-commit and pre-merge-commit sign the staged items of every project of the
repository, as rye sign --staged does. pre-push verifies each revision that would be
pushed. If the key needs a passphrase and there is neither a terminal nor a key agent,
the commit fails.

With --index-only the work tree is not written. Hook managers that hide unstaged
changes while the hooks run need it: they restore the changes by their line numbers.
post-commit then signs the files of the work tree that equal what was committed.`,
		Flags:    []cli.Flag{cli.Bool(&o.indexOnly, "index-only", "sign in git's index and never write the work tree")},
		Examples: []string{"rye hook run pre-commit", "rye hook run pre-commit --index-only"},
		Codes: []diag.Code{
			diag.AuthRequired,
			diag.ValidationFailed,
			diag.PolicyDenied,
			diag.ApprovalRequired,
			diag.HashMismatch,
			diag.Unsigned,
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runHook(ctx, c, &o)
		},
		Complete: func(context.Context, *cli.Call) []string {
			return runnable()
		},
	}
}

// runnable returns the hooks that rye hook run runs: those that rye installs, and the
// one that completes --index-only.
func runnable() []string {
	return append(githook.Names(), "post-commit")
}

func runHook(ctx context.Context, c *cli.Call, o *hookRunOptions) error {
	name := c.Arg(0)
	if o.indexOnly && !strings.HasSuffix(name, "-commit") || o.indexOnly && name == "post-commit" {
		return diag.New(diag.Usage, "running hook %q: --index-only is for pre-commit and pre-merge-commit", name)
	}
	switch name {
	case "pre-commit", "pre-merge-commit":
		return withTerminal(c, func(c *cli.Call) error {
			return hookCommit(ctx, c, name, o)
		})
	case "post-commit":
		return revision.FinishSigning(ctx, env.Of(c))
	case "pre-push":
		return hookPush(ctx, c)
	default:
		e := diag.New(diag.Usage, "running hook %q: the hooks are %s", name, strings.Join(runnable(), ", "))
		if near := cli.Nearest(name, runnable()); near != "" {
			return e.WithReason("nearest").WithDetail("nearest", near)
		}
		return e
	}
}

// withTerminal calls do with the terminal as its input, because git runs its hooks
// without one. GIT_TERMINAL_PROMPT=0 forbids questions, as it does for git.
func withTerminal(c *cli.Call, do func(*cli.Call) error) error {
	if c.Isatty(c.Stdin) || c.Getenv("GIT_TERMINAL_PROMPT") == "0" {
		return do(c)
	}
	tty, err := cli.OpenTerminal()
	if err != nil {
		return do(c)
	}
	defer func() { _ = tty.Close() }()
	w := *c.World
	asked := *c
	w.Stdin = tty
	asked.World = &w
	return do(&asked)
}

// hookCommit signs the staged items and prints each one to stderr. It prints
// nothing if there is nothing to sign.
func hookCommit(ctx context.Context, c *cli.Call, name string, o *hookRunOptions) error {
	git, err := gitcmd.New(gitcmd.Params{Dir: c.Dir, Cwd: c.Dir, Environ: c.Environ()})
	if err != nil {
		return err
	}
	e := env.Of(c)
	e.Surface = auditlog.SurfaceHook
	s, err := revision.SignStaged(ctx, e, git, revision.StagedCall{IndexOnly: o.indexOnly, Ask: ask.AboutStaged(c)})
	if err != nil {
		return err
	}
	if s.Failed() {
		return view.StagedReport(c, s, "committing", &view.SignOptions{})
	}
	signed := 0
	for _, f := range s.Files {
		if f.Status != primary.Unchanged {
			c.UI.Note(
				"rye: %s %s%s",
				string(f.Status),
				f.Path,
				view.Replaces(f, ", "),
			)
		}
		if f.Status == primary.Signed {
			signed++
		}
		for _, finding := range f.Findings {
			e.Person.Finding(finding)
		}
	}
	view.NoteLeft(c, s)
	if signed > 0 {
		warnCoauthor(ctx, c)
	}
	if name == "pre-merge-commit" && signed > 0 {
		// git merge has written the tree of its commit before it runs the hook.
		return diag.New(diag.Drift, "committing the merge: the index now has %s that git merge would leave out, so it stops", cli.Plural(signed, "more signature")).
			WithReason("merge_signed")
	}
	return nil
}

// pushedRevisions returns the revisions that a push sends. git writes them to
// stdin; the hook manager pre-commit sets an environment variable.
func pushedRevisions(c *cli.Call) ([]string, error) {
	var revs []string
	lines := bufio.NewScanner(c.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text()) // local ref, local id, remote ref, remote id
		if len(words) != 4 {
			return nil, diag.New(diag.Usage, "reading the pushed revisions: %q is not a line of git's pre-push protocol", lines.Text())
		}
		// An id of zeros deletes the remote ref.
		if strings.Trim(words[1], "0") != "" &&
			!slices.Contains(revs, words[1]) {
			revs = append(revs, words[1])
		}
	}
	rev := c.Getenv("PRE_COMMIT_TO_REF")
	if len(revs) == 0 && rev != "" {
		revs = append(revs, rev)
	}
	return revs, lines.Err()
}

func hookPush(ctx context.Context, c *cli.Call) error {
	if c.Isatty(c.Stdin) {
		return diag.New(diag.Usage, "running hook pre-push: stdin is a terminal, not the list of revisions that git writes").WithReason("hook_by_hand")
	}
	revs, err := pushedRevisions(c)
	if err != nil || len(revs) == 0 {
		return err
	}
	repo, err := env.Of(c).Repo(ctx)
	if err != nil {
		return err
	}
	warnCoauthor(ctx, c)
	for _, rev := range revs {
		if err := verifyPushed(ctx, c, repo, rev); err != nil {
			return err
		}
	}
	return nil
}

// verifyPushed verifies every project of a revision.
func verifyPushed(ctx context.Context, c *cli.Call, repo *gitcmd.Repo, rev string) error {
	tree, err := repo.Resolve(ctx, rev)
	if diag.CodeOf(err) == diag.VersionNotFound {
		return nil // a tag of a blob contains no items
	}
	if err != nil {
		return err
	}
	locations, err := revision.PushedProjects(ctx, env.Of(c), repo, tree)
	if err != nil {
		return err
	}
	for _, at := range locations {
		e := revision.EnvAt(env.Of(c), repo, at)
		e.AsCI = true
		h, err := e.Open(ctx, project.Lenient)
		if err != nil {
			return err
		}
		p, err := revision.Open(ctx, repo, tree, at.Prefix)
		if err != nil {
			return err
		}
		err = verifyPushedProject(ctx, c, h, p, pushed{rev, at.Label})
		p.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// pushed is a project in a revision that is pushed.
type pushed struct{ rev, label string }

// String returns how messages name it.
func (p pushed) String() string {
	rev := p.rev[:min(len(p.rev), 12)]
	if p.label == "" {
		return rev
	}
	return rev + ":" + p.label
}

func verifyPushedProject(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	p *revision.Folder,
	what pushed,
) error {
	if ok, err := p.IsProject(); err != nil || !ok {
		return err
	}
	x, err := revision.OpenProject(ctx, h, p, what.rev)
	if err != nil {
		return err
	}
	params := verify.Params{Resolver: x.Walker(), Trust: h.Trust}
	judge := relock.NewJudge(ctx, x)
	if judge != nil {
		params.Each = judge.Item
	}
	r, err := verify.Root(ctx, params, x.Spaces.Of(space.Project))
	if err == nil {
		err = status.VerifyLock(ctx, x, r, judge)
	}
	if err != nil {
		return err
	}
	if !r.Failed() {
		warn := env.Of(c).Person.Finding
		for _, f := range r.Findings {
			f.Path = what.label + f.Path
			warn(f)
		}
		c.UI.Note("rye: %s: %s", what, view.WalkSummary(r))
		return nil
	}
	c.UI.Note("rye: %s would be pushed, but does not verify:", what)
	return view.Verified(c, r)
}
