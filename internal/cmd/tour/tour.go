package tour

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/templates"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/threads/provider/scripted"
)

func Command() *cli.Command {
	var keep bool
	return &cli.Command{
		Name:  "tour",
		Group: "About rye",
		Usage: "watch rye work in a temporary directory",
		Long: `Creates a key and a project in a scratch directory, signs, verifies and runs a tool,
then shows how rye refuses attacks, and follows a directive with a scripted model. The
tour runs the real commands and prints their output. It reads and writes no other project
and no key of yours; only the last chapter, "with your own model", uses your model if you
answer yes. The chapters about a registry need rye-server.

At a terminal the tour has chapters: Enter shows the next one, a number the chapter with that number, and q
ends the tour. Elsewhere all chapters but the last are printed.`,
		Examples: []string{"rye tour", "rye tour | less", "rye tour --keep  # keep the directory to inspect it"},
		Codes:    []diag.Code{diag.ExecutionFailed, diag.FileSystemError},
		Flags:    []cli.Flag{cli.Bool(&keep, "keep", "keep the scratch directory")},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runTour(ctx, c, keep)
		},
	}
}

// tour is one run of rye tour.
type tour struct {
	c       *cli.Call
	brief   bool   // long outputs are cut: a person reads them chapter by chapter
	silent  bool   // nothing is printed: a later chapter needs what this one makes
	dir     string // the scratch directory
	project string
	tool    string // the tool's file, relative to the project
	who     string // the person whose commands run; "" is the user
	Steps   []tourStep

	scripted *scripted.Server // the model, from its chapter on
	registryData,
	registryURL string
	serving  []func() // what ends the model and the registry
	noServer error    // why the chapters about a registry are left out
}

// tourStep is one command of the tour and its result.
type tourStep struct {
	Say     string `json:"say,omitempty"`
	Who     string `json:"who,omitempty"` // "" is the user
	Command string `json:"command"`
	Exit    int    `json:"exit"`
	Output  string `json:"output"`
}

func runTour(ctx context.Context, c *cli.Call, keep bool) error {
	dir, err := os.MkdirTemp("", "rye-tour-")
	if err != nil {
		return diag.New(diag.FileSystemError, "creating the scratch directory: %w", err)
	}
	// Output contains the directory's path. If the path contained a symbolic link
	// (macOS), commands would print two forms of it.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	t := &tour{c: c, dir: dir, project: filepath.Join(dir, "hello-project")}
	t.findServer(ctx)
	walkErr := t.walk(ctx)
	if keep {
		c.UI.Note("the scratch directory is %s", dir)
	} else if err := RemoveAll(dir); err != nil && walkErr == nil {
		walkErr = diag.New(diag.FileSystemError, "removing the scratch directory: %w", err)
	}
	if walkErr != nil {
		return walkErr
	}
	return c.UI.Show(map[string]any{"steps": t.Steps}, func() {
		c.UI.Out("%s", c.UI.Style(cli.Bold, "End of the tour."))
		c.UI.Out("Next, in your own project: rye key new, rye init, rye new tool demo/hello, rye verify.")
	})
}

// RemoveAll removes a directory. It makes directories writable first, because the
// directories of the cache are read-only.
func RemoveAll(dir string) error {
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

func (t *tour) start(ctx context.Context) error {
	return errors.Join(
		t.rye(ctx, 0, "Create a key. Outside of a tour, give it a passphrase.", "key", "new", "--owner", "you", "--no-passphrase"),
		t.rye(ctx, 0, "Create a project.", "init"),
	)
}

func (t *tour) author(ctx context.Context) error {
	name, text := tourTool()
	t.tool = filepath.Join(".ai", "tools", "demo", name)
	if err := t.write(t.tool, text); err != nil {
		return err
	}
	t.say("Write a tool: a script whose header names its runtime. (" + filepath.ToSlash(t.tool) + ")")
	t.lines(text)
	return errors.Join(
		t.rye(ctx, cli.ExitStatus(diag.Unsigned), "No trusted key has signed it yet, so rye does not run it.", "run", "tool", "demo/hello"),
		t.rye(ctx, 0, "Read it and sign it.", "sign", "tool:demo/hello"),
	)
}

func (t *tour) use(ctx context.Context) error {
	return errors.Join(
		t.rye(ctx, 0, "Verify everything in the project, as CI does.", "verify"),
		t.rye(ctx, 0, "Run it. rye runs exactly the bytes that it verified.", "run", "tool", "demo/hello", "name=world"),
		t.rye(ctx, 0, "Show its chain: tool, runtime and primitive, each signed.", "chain", "tool:demo/hello"),
	)
}

// tamper changes one byte of the tool and restores it.
func (t *tour) tamper(ctx context.Context) error {
	file := filepath.Join(t.project, t.tool)
	good, err := os.ReadFile(file)
	if err != nil {
		return diag.New(diag.FileSystemError, "reading the tool: %w", err)
	}
	err = t.write(t.tool, strings.Replace(string(good), "hello", "hellO", 1))
	if err != nil {
		return err
	}
	t.say("An attacker changes one byte: hello becomes hellO.")
	err = errors.Join(
		t.rye(ctx, cli.ExitStatus(diag.HashMismatch), "rye refuses to run it.", "run", "tool", "demo/hello", "name=world"),
		t.rye(ctx, cli.ExitStatus(diag.HashMismatch), "CI fails as well.", "verify"),
	)
	return errors.Join(err, t.write(t.tool, string(good)))
}

// impersonate copies the signed tool to another id.
func (t *tour) impersonate(ctx context.Context) error {
	good, err := os.ReadFile(filepath.Join(t.project, t.tool))
	if err != nil {
		return diag.New(diag.FileSystemError, "reading the tool: %w", err)
	}
	copied := filepath.Join(filepath.Dir(t.tool), "deploy"+filepath.Ext(t.tool))
	if err := t.write(copied, string(good)); err != nil {
		return err
	}
	t.say("The byte is restored. An attacker copies the signed tool to the id demo/deploy.")
	return t.rye(ctx, cli.ExitStatus(diag.SigInvalid), "A signature is valid for one id only.", "run", "tool", "demo/deploy")
}

func (t *tour) next(ctx context.Context) error {
	return errors.Join(
		t.rye(ctx, 0, "Show why it does not run.", "trust", "explain", "tool:demo/deploy"),
		t.rye(ctx, 0, "If you want the tool under that id, read it and sign it.", "sign", "tool:demo/deploy"),
		t.rye(ctx, 0, "Everything verifies again.", "verify"),
	)
}

// team grants a second person trust.
func (t *tour) team(ctx context.Context) error {
	_, text := tourTool()
	rel := filepath.Join(filepath.Dir(t.tool), "report"+filepath.Ext(t.tool))
	if err := t.write(rel, text); err != nil {
		return err
	}
	t.say("Ada joins the project. On her own machine she writes the tool demo/report.")
	err := t.as("ada", func() error {
		return errors.Join(
			t.rye(ctx, 0, "She creates a key.", "key", "new", "--owner", "ada", "--no-passphrase", "--quiet"),
			t.rye(ctx, 0, "She signs her tool.", "sign", "tool:demo/report"),
			t.rye(ctx, 0, "She exports the document of her key, which contains no secret.", "key", "export", ">", "ada.toml"),
		)
	})
	return errors.Join(err,
		t.rye(ctx, cli.ExitStatus(diag.KeyUnknown), "Your rye does not trust her key yet.", "run", "tool", "demo/report", "name=team"),
		t.rye(ctx, 0, "Trust her key for tools below demo/ only.", "trust", "add", "ada.toml", "--kinds", "tool", "--namespaces", "demo/**"),
		t.rye(ctx, 0, "Now her tool runs.", "run", "tool", "demo/report", "name=team"),
	)
}

// stolen revokes the key of the second person.
func (t *tour) stolen(ctx context.Context) error {
	return errors.Join(
		t.as("ada", func() error {
			return t.rye(ctx, 0, "Her laptop is stolen. She revokes her key in the project.", "key", "revoke", "--reason", "compromised", "--in-project")
		}),
		t.rye(ctx, cli.ExitStatus(diag.Revoked), "With that commit, her signatures are not trusted in any copy of the project.", "run", "tool", "demo/report", "name=team"),
	)
}

// packages publishes and adds a bundle of a git repository. It is skipped if git is not
// installed.
func (t *tour) packages(ctx context.Context) error {
	git, remote, bundle := t.publisher()
	if git == "" {
		return nil
	}
	t.say("A publisher keeps a bundle of signed items in a git repository, here in another directory.")
	err := t.in(bundle, func() error {
		return errors.Join(
			t.rye(ctx, 0, "Create a project, a tool, and a signed manifest that lists every file.", "init"),
			t.publish(ctx),
			t.rye(ctx, 0, "", "bundle", "create", "acme-tools", "--version", "1.0.0"),
			t.git(ctx, git, "init", "--quiet", "--initial-branch=main"), t.git(ctx, git, "add", "--all"),
			t.git(ctx, git, "commit", "--quiet", "--message=one"), t.git(ctx, git, "tag", "v1.0.0"),
		)
	})
	if err != nil {
		return err
	}
	return errors.Join(
		t.rye(ctx, 0, "Add it to your project: rye fetches, verifies, installs and locks it.", "add", remote),
		t.rye(ctx, 0, "Run its tool, exactly as locked.", "run", "tool", "acme/greet", "name=bundle"),
	)
}

// publisher returns the path of git, "" if this system has none, the address of the bundle
// that the tour publishes, and its directory.
func (t *tour) publisher() (git, remote, dir string) {
	git, err := proc.LookPath("git", t.env())
	if err != nil || runtime.GOOS == "windows" {
		return "", "", ""
	}
	dir = filepath.Join(t.dir, "acme-tools")
	return git, "file://" + filepath.ToSlash(dir), dir
}

// locked shows what the lock refuses, and moves the tag of the bundle.
func (t *tour) locked(ctx context.Context) error {
	git, _, bundle := t.publisher()
	if git == "" {
		return nil
	}
	err := errors.Join(
		t.rye(ctx, 0, "Lock your own tools. The tool of the stolen key is not locked.", "lock"),
		t.rye(ctx, 0, "CI checks that the lock matches rye.yaml.", "lock", "--check"),
	)
	if err != nil {
		return err
	}
	err = t.in(bundle, func() error {
		return errors.Join(
			t.git(ctx, git, "commit", "--quiet", "--allow-empty", "--message=two"),
			t.git(ctx, git, "tag", "--force", "v1.0.0"),
		)
	})
	return errors.Join(err, t.rye(ctx, cli.ExitStatus(diag.TagMoved), "Upstream, the tag v1.0.0 is moved to another commit. rye keeps the locked files and refuses the new ones.", "lock"))
}

// publish writes and signs the tool of the bundle.
func (t *tour) publish(ctx context.Context) error {
	name, text := tourTool()
	rel := filepath.Join(".ai", "tools", "acme", "greet"+filepath.Ext(name))
	return errors.Join(t.write(rel, strings.ReplaceAll(text, "category: demo", "category: acme")),
		t.rye(ctx, 0, "", "sign", "tool:acme/greet"))
}

// in runs f in another directory.
func (t *tour) in(dir string, f func() error) error {
	was := t.project
	defer func() { t.project = was }()
	if t.project = dir; os.MkdirAll(dir, 0o755) != nil {
		return diag.New(diag.FileSystemError, "creating %s", dir)
	}
	return f()
}

// git runs one git command without the user's configuration, and shows it.
func (t *tour) git(ctx context.Context, git string, args ...string) error {
	t.out("%s", t.c.UI.Style(
		cli.Cyan,
		"$ git "+strings.Join(args, " "),
	))
	cmd := exec.CommandContext(ctx, git, args...)
	cmd.Dir = t.project
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(t.env(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=tour", "GIT_AUTHOR_EMAIL=tour@localhost",
		"GIT_COMMITTER_NAME=tour", "GIT_COMMITTER_EMAIL=tour@localhost")
	if out, err := cmd.CombinedOutput(); err != nil {
		return diag.New(diag.ExecutionFailed, "running git %s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	if slices.Contains(args, "tag") {
		t.out("")
	}
	return nil
}

// as runs f with the home directory of another person.
func (t *tour) as(who string, f func() error) error {
	t.who = who
	defer func() { t.who = "" }()
	return f()
}

// tourTool returns a tool for bash, or one without an interpreter if bash is not
// installed.
func tourTool() (name, text string) {
	if _, err := exec.LookPath("bash"); err == nil {
		b, _ := templates.Files.ReadFile("tool.sh")
		return "hello.sh", tourFill(b)
	}
	b, _ := templates.Files.ReadFile("tour.yaml")
	return "hello.yaml", tourFill(b)
}

func tourFill(b []byte) string {
	return strings.NewReplacer("{{category}}", "demo", "{{description}}", "Say hello.").Replace(string(b))
}

func (t *tour) write(rel, text string) error {
	file := filepath.Join(t.project, rel)
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o644)
	}
	if err != nil {
		return diag.New(diag.FileSystemError, "writing the tool: %w", err)
	}
	return nil
}

func (t *tour) say(text string) {
	t.out("%s", t.c.UI.Style(cli.Bold, "# "+text))
}

// rye runs one command and shows it. It returns an error if the exit status is not
// want.
func (t *tour) rye(ctx context.Context, want int, say string, args ...string) error {
	if t.c.Self == "" {
		return diag.New(diag.FileSystemError, "starting the tour: the path of this program is unknown")
	}
	args, file := redirected(args)
	cmd := exec.CommandContext(ctx, t.c.Self, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = t.project, t.env(), 5*time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return diag.New(diag.ExecutionFailed, "running rye %s: %w", args[0], err)
	}
	step := tourStep{
		Say:     say,
		Who:     t.who,
		Command: "rye " + strings.Join(args, " "),
		Exit:    cmd.ProcessState.ExitCode(),
		Output:  out.String(),
	}
	if file != "" {
		step.Command = step.Command + " > " + file
		step.Output = ""
		if err := t.write(file, out.String()); err != nil {
			return err
		}
	}
	t.Steps = append(t.Steps, step)
	t.show(step)
	if step.Exit != want {
		return diag.New(diag.ExecutionFailed, "touring: %s ended with status %d instead of %d", step.Command, step.Exit, want)
	}
	return nil
}

// redirected separates "> FILE" from the end of a command.
func redirected(args []string) (rest []string, file string) {
	n := len(args)
	if n > 2 && args[n-2] == ">" {
		return args[:n-2], args[n-1]
	}
	return args, ""
}

func (t *tour) show(s tourStep) {
	ui := t.c.UI
	if s.Say != "" {
		t.say(s.Say)
	}
	t.out("%s", ui.Style(cli.Cyan, s.Who+"$ "+s.Command))
	if s.Output != "" {
		t.text(s.Output)
	}
	if s.Exit != 0 {
		t.out("%s", ui.Style(cli.Dim, fmt.Sprintf("(exit status %d)", s.Exit)))
	}
	t.out("")
}

// env returns the environment of the commands: a home in the scratch directory, and
// no key or key agent of the user.
func (t *tour) env() []string {
	home := filepath.Join(t.dir, "home"+t.who)
	env := []string{"HOME=" + home, "USERPROFILE=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"),
		"XDG_DATA_HOME=" + filepath.Join(home, ".local", "share"), "XDG_STATE_HOME=" + filepath.Join(home, ".local", "state"),
		"XDG_CACHE_HOME=" + filepath.Join(home, ".cache"), "AppData=" + filepath.Join(home, "AppData"),
		"LocalAppData=" + filepath.Join(home, "LocalAppData"), "NO_COLOR=1"}
	caller := proc.Own(t.c.Environ(), t.c.Base, t.c.Dir) // which may be in a project with programs of its own
	for _, key := range []string{"PATH", "TMPDIR", "TEMP", "TMP", "SystemRoot", "PATHEXT"} {
		if v, _ := proc.Lookup(caller, key); v != "" {
			env = append(env, key+"="+v)
		}
	}
	return env
}
