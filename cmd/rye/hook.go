package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/githook"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/verify"
)

func hookCommand() *command {
	return &command{
		name: "hook", group: "Items",
		usage: "sign what is committed, verify what is pushed",
		long: `The hooks sign the items of a commit in git's index and verify what a push would
publish. git runs none of them for cherry-pick, rebase, am and revert, nor with
--no-verify: rye verify in CI is the gate, the hooks are a convenience.`,
		subs: []*command{hookInstallCommand(), hookUninstallCommand(), hookRunCommand()},
	}
}

func hookInstallCommand() *command {
	return &command{
		name: "install", usage: "install the git hooks of this repository",
		long: `Installs pre-commit, pre-merge-commit and pre-push where git looks for them, also
with core.hooksPath and in linked work trees. A hook that is there already is kept
and runs first. --print shows what to write for another manager of hooks: pre-commit,
lefthook or husky.`,
		examples: []string{"rye hook install", "rye hook install --print lefthook"},
		codes:    []diag.Code{diag.SourceNotFound, diag.FileSystemError},
		flags:    []cli.Flag{&cli.StringFlag{Name: "print", Usage: "print the settings for `MANAGER` and install nothing"}},
		run:      runHookInstall,
	}
}

func runHookInstall(ctx context.Context, c *call) error {
	if c.isSet("print") {
		return c.printHook(c.str("print"))
	}
	done, err := c.installHooks(ctx)
	if err != nil {
		return err
	}
	return c.ui.Show(map[string]any{"hooks": done}, func() { c.showHooks(done) })
}

func (c *call) installHooks(ctx context.Context) ([]githook.Installed, error) {
	repo, err := c.repo(ctx)
	if err != nil {
		return nil, err
	}
	h, err := c.house(ctx, lenient)
	if err != nil {
		return nil, err
	}
	return githook.Install(ctx, githook.InstallParams{Repo: repo, Prefix: h.prefixIn(repo), Self: c.Self})
}

func (c *call) showHooks(done []githook.Installed) {
	for _, d := range done {
		line := fmt.Sprintf("%-9s  %s", d.Status, d.Path)
		if d.Chains != "" {
			line += " (after " + d.Chains + ")"
		}
		c.ui.Out("%s", line)
	}
}

// hookManagers are the other programs that manage hooks.
func hookManagers() []string { return []string{"pre-commit", "lefthook", "husky"} }

func (c *call) printHook(manager string) error {
	if !slices.Contains(hookManagers(), manager) {
		e := diag.New(diag.Usage, "reading flag --print: %q is none of %s", manager, strings.Join(hookManagers(), ", "))
		if near := nearest(manager, hookManagers()); near != "" {
			return e.WithHint("did you mean %s?", near)
		}
		return e
	}
	b, err := templates.ReadFile("templates/hook-" + manager + ".txt")
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(string(b), "VERSION", releaseVersion("main"))
	return c.ui.Show(map[string]string{"manager": manager, "text": text}, func() { c.ui.Text(text) })
}

// releaseVersion returns the version of this build, or otherwise for a build
// that is no release.
func releaseVersion(otherwise string) string {
	v := readVersion().Version
	if !strings.HasPrefix(v, "v") || strings.ContainsAny(v, "-+") {
		return otherwise
	}
	return v
}

func hookUninstallCommand() *command {
	return &command{
		name: "uninstall", usage: "remove the git hooks that rye installed",
		long:     `Removes the hooks of rye hook install and puts back what stood there before.`,
		examples: []string{"rye hook uninstall"},
		codes:    []diag.Code{diag.SourceNotFound, diag.FileSystemError},
		run: func(ctx context.Context, c *call) error {
			repo, err := c.repo(ctx)
			if err != nil {
				return err
			}
			done, err := githook.Uninstall(ctx, repo)
			if err != nil {
				return err
			}
			return c.ui.Show(map[string]any{"hooks": done}, func() { c.showHooks(done) })
		},
	}
}

func hookRunCommand() *command {
	return &command{
		name: "run", usage: "do the work of one hook; git calls this", args: "HOOK [ARG…]",
		long: `pre-commit and pre-merge-commit sign the staged items, as rye sign --staged does;
pre-push verifies each revision that would be pushed. Without a terminal and without
an agent that holds the key nobody is asked: the commit fails and says what to do.`,
		examples: []string{"rye hook run pre-commit"},
		codes:    []diag.Code{diag.AuthRequired, diag.ValidationFailed, diag.PolicyDenied, diag.HashMismatch, diag.Unsigned},
		run:      runHook,
		complete: func(context.Context, *call) []string { return githook.Names() },
	}
}

func runHook(ctx context.Context, c *call) error {
	switch name := c.arg(0); name {
	case "pre-commit", "pre-merge-commit":
		c.surface = surfaceHook
		return c.atTerminal(func(c *call) error { return c.hookCommit(ctx) })
	case "pre-push":
		return c.hookPush(ctx)
	default:
		e := diag.New(diag.Usage, "running hook %q: the hooks are %s", name, strings.Join(githook.Names(), ", "))
		if near := nearest(name, githook.Names()); near != "" {
			return e.WithHint("did you mean %s?", near)
		}
		return e
	}
}

// atTerminal lets do ask at the terminal of the person who runs git: git gives
// its hooks no input of their own. GIT_TERMINAL_PROMPT=0 says that nobody is
// there, as it does to git.
func (c *call) atTerminal(do func(*call) error) error {
	if c.Isatty(c.Stdin) || c.Getenv("GIT_TERMINAL_PROMPT") == "0" {
		return do(c)
	}
	tty, err := openTerminal()
	if err != nil {
		return do(c)
	}
	defer func() { _ = tty.Close() }()
	w, asked := *c.world, *c
	w.Stdin = tty
	asked.world = &w
	return do(&asked)
}

// hookCommit signs what is staged and says so on stderr; it is silent when
// there is nothing to do.
func (c *call) hookCommit(ctx context.Context) error {
	git, err := gitcmd.New(gitcmd.Params{Dir: c.Dir, Cwd: c.Dir, Environ: c.Environ()})
	if err != nil {
		return err
	}
	s, err := c.signStaged(ctx, git, false)
	if err != nil {
		return err
	}
	if s.Failed() {
		return c.stagedReport(s, "committing")
	}
	for _, f := range s.Files {
		if f.Status != "unchanged" {
			c.ui.Note("rye: %s %s", string(f.Status), f.Path)
		}
	}
	c.noteLeft(s)
	return nil
}

// pushed are the revisions that a push sends: git tells them on stdin, the
// manager pre-commit in its environment.
func (c *call) pushed() ([]string, error) {
	var revs []string
	lines := bufio.NewScanner(c.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text()) // local ref, local id, remote ref, remote id
		if len(words) != 4 {
			return nil, diag.New(diag.Usage, "reading what is pushed: %q is no line of git's", lines.Text()).WithHint("git runs this hook")
		}
		if strings.Trim(words[1], "0") != "" && !slices.Contains(revs, words[1]) { // zeros delete
			revs = append(revs, words[1])
		}
	}
	if rev := c.Getenv("PRE_COMMIT_TO_REF"); len(revs) == 0 && rev != "" {
		revs = append(revs, rev)
	}
	return revs, lines.Err()
}

func (c *call) hookPush(ctx context.Context) error {
	if c.Isatty(c.Stdin) {
		return diag.New(diag.Usage, "running hook pre-push: git tells on stdin what is pushed").WithHint("to verify a revision: rye verify --rev REV")
	}
	revs, err := c.pushed()
	if err != nil || len(revs) == 0 {
		return err
	}
	repo, err := c.repo(ctx)
	if err != nil {
		return err
	}
	h, err := c.house(ctx, lenient)
	if err != nil {
		return err
	}
	for _, rev := range revs {
		if err := c.verifyPushed(ctx, h, repo, rev); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) verifyPushed(ctx context.Context, h *house, repo *gitcmd.Repo, rev string) error {
	tree, err := repo.Resolve(ctx, rev)
	if diag.CodeOf(err) == diag.VersionNotFound {
		return nil // a tag of something that is no tree holds no items
	}
	if err != nil {
		return err
	}
	p, err := revisionProject(ctx, repo, tree, h.prefixIn(repo))
	if err != nil {
		return err
	}
	defer p.close()
	if p.Empty() {
		return nil
	}
	x, err := c.openInGit(h, p, rev)
	if err != nil {
		return err
	}
	r, err := verify.Root(ctx, verify.Params{Resolver: x.verifier(x.spaces), Trust: h.trust}, x.spaces.Of(space.Project))
	if err == nil {
		err = c.verifyLock(ctx, x, r)
	}
	if err != nil {
		return err
	}
	if !r.Failed() {
		c.ui.Note("rye: %s: %s", rev[:min(len(rev), 12)], walkSummary(r))
		return nil
	}
	c.ui.Note("rye: %s would be pushed and does not verify:", rev[:min(len(rev), 12)])
	return c.verified(r)
}

// mergedHeads returns the commits whose changes are being taken over: those of
// a merge, also where git names them to its hooks only, the one that is
// squashed, and the one that a stopped cherry-pick or rebase was at.
func mergedHeads(repo *gitcmd.Repo, environ []string) ([]string, error) {
	var heads []string
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "SQUASH_MSG"} {
		b, err := os.ReadFile(filepath.Join(repo.GitDir, name))
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return nil, diag.New(diag.FileSystemError, "reading %s: %w", name, err)
		case name == "SQUASH_MSG":
			heads = append(heads, squashed(string(b)))
		default:
			heads = append(heads, strings.Fields(string(b))...)
		}
	}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if oid, ok := strings.CutPrefix(name, "GITHEAD_"); ok {
			heads = append(heads, oid)
		}
	}
	slices.Sort(heads)
	return slices.DeleteFunc(slices.Compact(heads), func(oid string) bool {
		return len(oid) < 40 || strings.Trim(oid, "0123456789abcdef") != ""
	}), nil
}

// squashed returns the newest of the commits that git merge --squash lists: it
// writes no other trace of them. Their messages are indented there.
func squashed(msg string) string {
	for line := range strings.Lines(msg) {
		if oid, ok := strings.CutPrefix(line, "commit "); ok {
			return strings.TrimSpace(oid)
		}
	}
	return ""
}
