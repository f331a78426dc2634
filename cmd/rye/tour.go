package main

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
)

func tourCommand() *cli.Command {
	var keep bool
	return &cli.Command{
		Name: "tour", Group: "About rye",
		Usage: "see rye work, in a scratch folder that is removed again",
		Long: `Makes a key and a project, writes and signs a tool, verifies and runs it, then
shows attacks being refused. Every line below a $ is the real output of the
real command; nothing outside the scratch folder is read or written.`,
		Examples: []string{"rye tour", "rye tour --keep  # leaves the folder for a look"},
		Codes:    []diag.Code{diag.ExecutionFailed, diag.FileSystemError},
		Flags:    []cli.Flag{cli.Bool(&keep, "keep", "keep the scratch directory")},
		Run:      func(ctx context.Context, c *cli.Call) error { return runTour(ctx, c, keep) },
	}
}

// tour is one walk through the commands.
type tour struct {
	c       *cli.Call
	dir     string // scratch folder
	project string
	tool    string // file of the tool, below the project
	who     string // whose commands run: "" is you
	Steps   []tourStep
}

// tourStep is one command of the tour and what it did.
type tourStep struct {
	Say     string `json:"say,omitempty"`
	Who     string `json:"who,omitempty"` // "" is you
	Command string `json:"command"`
	Exit    int    `json:"exit"`
	Output  string `json:"output"`
}

func runTour(ctx context.Context, c *cli.Call, keep bool) error {
	dir, err := os.MkdirTemp("", "rye-tour-")
	if err != nil {
		return diag.New(diag.FileSystemError, "making the scratch folder: %w", err)
	}
	// The path of the folder shows in output: links on the way to it (macOS)
	// would make two spellings of one place.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	t := &tour{c: c, dir: dir, project: filepath.Join(dir, "hello-project")}
	walked := t.walk(ctx)
	if keep {
		c.UI.Note("The scratch folder is %s", dir)
	} else if err := removeAll(dir); err != nil && walked == nil {
		walked = diag.New(diag.FileSystemError, "cleaning up: %w", err)
	}
	if walked != nil {
		return walked
	}
	return c.UI.Show(map[string]any{"steps": t.Steps}, func() {
		c.UI.Out("%s", c.UI.Style(cli.Bold, "That was the tour. The scratch folder is gone."))
		c.UI.Out("In a project of your own: rye key new, rye init, rye new tool demo/hello, rye verify.")
	})
}

// removeAll removes a folder that holds read-only folders of the cache.
func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

func (t *tour) walk(ctx context.Context) error {
	if err := os.MkdirAll(t.project, 0o755); err != nil {
		return diag.New(diag.FileSystemError, "making the scratch project: %w", err)
	}
	steps := []func(context.Context) error{t.start, t.author, t.use, t.tamper, t.impersonate, t.next, t.agent, t.team, t.packages}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *tour) start(ctx context.Context) error {
	return errors.Join(
		t.rye(ctx, 0, "A key of your own. A real one has a passphrase.", "key", "new", "--owner", "you", "--no-passphrase"),
		t.rye(ctx, 0, "A project.", "init"),
	)
}

func (t *tour) author(ctx context.Context) error {
	name, text := tourTool()
	t.tool = filepath.Join(".ai", "tools", "demo", name)
	if err := t.write(t.tool, text); err != nil {
		return err
	}
	t.say("A tool: a script whose header says what runs it. (" + filepath.ToSlash(t.tool) + ")")
	for line := range strings.Lines(text) {
		t.c.UI.Out("  | %s", strings.TrimRight(line, "\n"))
	}
	t.c.UI.Out("")
	return errors.Join(
		t.rye(ctx, cli.ExitStatus(diag.Unsigned), "Nobody vouches for it yet, so it does not run.", "run", "tool", "demo/hello"),
		t.rye(ctx, 0, "You read it and sign it.", "sign", "tool:demo/hello"),
	)
}

func (t *tour) use(ctx context.Context) error {
	return errors.Join(
		t.rye(ctx, 0, "Everything in the project is verified, as CI would do it.", "verify"),
		t.rye(ctx, 0, "It runs. What runs are the bytes that were verified.", "run", "tool", "demo/hello", "name=world"),
		t.rye(ctx, 0, "The chain: tool, runtime, primitive, each signed.", "chain", "tool:demo/hello"),
	)
}

// tamper flips one byte and puts it back.
func (t *tour) tamper(ctx context.Context) error {
	file := filepath.Join(t.project, t.tool)
	good, err := os.ReadFile(file)
	if err != nil {
		return diag.New(diag.FileSystemError, "reading the tool: %w", err)
	}
	if err := t.write(t.tool, strings.Replace(string(good), "hello", "hellO", 1)); err != nil {
		return err
	}
	t.say("Somebody flips one byte: hello becomes hellO.")
	err = errors.Join(
		t.rye(ctx, cli.ExitStatus(diag.HashMismatch), "It does not run any more.", "run", "tool", "demo/hello", "name=world"),
		t.rye(ctx, cli.ExitStatus(diag.HashMismatch), "CI sees it, too.", "verify"),
	)
	return errors.Join(err, t.write(t.tool, string(good)))
}

// impersonate copies the signed tool under another id.
func (t *tour) impersonate(ctx context.Context) error {
	good, err := os.ReadFile(filepath.Join(t.project, t.tool))
	if err != nil {
		return diag.New(diag.FileSystemError, "reading the tool: %w", err)
	}
	copied := filepath.Join(filepath.Dir(t.tool), "deploy"+filepath.Ext(t.tool))
	if err := t.write(copied, string(good)); err != nil {
		return err
	}
	t.say("The byte is back. Somebody copies the signed tool to the id demo/deploy.")
	return t.rye(ctx, cli.ExitStatus(diag.SigInvalid), "A signature is for one id: it is no passport for another.", "run", "tool", "demo/deploy")
}

func (t *tour) next(ctx context.Context) error {
	return errors.Join(
		t.rye(ctx, 0, "What would be needed for it to run?", "trust", "explain", "tool:demo/deploy"),
		t.rye(ctx, 0, "If you wanted that tool under that id, you would read it and sign it yourself.", "sign", "tool:demo/deploy"),
		t.rye(ctx, 0, "All is well again.", "verify"),
	)
}

// team lets a second person in, and out again.
func (t *tour) team(ctx context.Context) error {
	_, text := tourTool()
	rel := filepath.Join(filepath.Dir(t.tool), "report"+filepath.Ext(t.tool))
	if err := t.write(rel, text); err != nil {
		return err
	}
	t.say("Ada joins the project. She has a machine and a key of her own, and writes the tool demo/report.")
	err := t.as("ada", func() error {
		return errors.Join(
			t.rye(ctx, 0, "Her key.", "key", "new", "--owner", "ada", "--no-passphrase", "--quiet"),
			t.rye(ctx, 0, "She signs her tool.", "sign", "tool:demo/report"),
			t.rye(ctx, 0, "She gives you the document of her key. It holds no secret.", "key", "export", ">", "ada.toml"),
		)
	})
	return errors.Join(err,
		t.rye(ctx, cli.ExitStatus(diag.KeyUnknown), "A signature of a stranger counts for nothing.", "run", "tool", "demo/report", "name=team"),
		t.rye(ctx, 0, "You trust her, for tools below demo/ and for no more.", "trust", "add", "ada.toml", "--kinds", "tool", "--namespaces", "demo/**"),
		t.rye(ctx, 0, "Now it runs.", "run", "tool", "demo/report", "name=team"),
		t.as("ada", func() error {
			return t.rye(ctx, 0, "Her laptop is stolen. She says so in the project.", "key", "revoke", "--reason", "compromised", "--in-project")
		}),
		t.rye(ctx, cli.ExitStatus(diag.Revoked), "From that commit on her signatures count nowhere.", "run", "tool", "demo/report", "name=team"),
	)
}

// packages locks a bundle from a git repository, and sees its tag move. A
// machine without git does without.
func (t *tour) packages(ctx context.Context) error {
	git, err := exec.LookPath("git")
	if err != nil || runtime.GOOS == "windows" {
		return nil
	}
	app, bundle := t.project, filepath.Join(t.dir, "acme-tools")
	remote := "file://" + filepath.ToSlash(bundle)
	t.say("A publisher keeps a bundle of signed items in a git repository, here in another folder.")
	err = t.in(bundle, func() error {
		return errors.Join(
			t.rye(ctx, 0, "A project, a tool, and a manifest that lists every file.", "init"),
			t.publish(ctx),
			t.rye(ctx, 0, "", "bundle", "create", "acme-tools", "--version", "1.0.0"),
			t.git(ctx, git, "init", "--quiet", "--initial-branch=main"), t.git(ctx, git, "add", "--all"),
			t.git(ctx, git, "commit", "--quiet", "--message=one"), t.git(ctx, git, "tag", "v1.0.0"),
		)
	})
	if err != nil {
		return err
	}
	t.project = app
	err = errors.Join(
		t.rye(ctx, 0, "Your project takes it in: fetched, verified, installed and locked.", "add", remote),
		t.rye(ctx, 0, "Its tool runs as the lock pins it.", "run", "tool", "acme/greet", "name=bundle"),
		t.rye(ctx, 0, "You lock your own tools, too. The one of the stolen key stays out.", "lock"),
		t.rye(ctx, 0, "CI asks whether the lock is what rye.yaml asks for.", "lock", "--check"),
	)
	if err != nil {
		return err
	}
	err = t.in(bundle, func() error {
		return errors.Join(t.git(ctx, git, "commit", "--quiet", "--allow-empty", "--message=two"), t.git(ctx, git, "tag", "--force", "v1.0.0"))
	})
	return errors.Join(err, t.rye(ctx, cli.ExitStatus(diag.TagMoved), "Upstream, the tag v1.0.0 is moved to another commit. What you locked goes on working; nothing new comes in.", "lock"))
}

// publish writes and signs the tool of the bundle.
func (t *tour) publish(ctx context.Context) error {
	name, text := tourTool()
	rel := filepath.Join(".ai", "tools", "acme", "greet"+filepath.Ext(name))
	return errors.Join(t.write(rel, strings.ReplaceAll(text, "category: demo", "category: acme")),
		t.rye(ctx, 0, "", "sign", "tool:acme/greet"))
}

// in runs f in another folder.
func (t *tour) in(dir string, f func() error) error {
	was := t.project
	defer func() { t.project = was }()
	if t.project = dir; os.MkdirAll(dir, 0o755) != nil {
		return diag.New(diag.FileSystemError, "making %s", dir)
	}
	return f()
}

// git runs one command of git, with nobody's configuration, and shows it.
func (t *tour) git(ctx context.Context, git string, args ...string) error {
	t.c.UI.Out("%s", t.c.UI.Style(cli.Cyan, "$ git "+strings.Join(args, " ")))
	cmd := exec.CommandContext(ctx, git, args...)
	cmd.Dir, cmd.WaitDelay = t.project, 5*time.Second
	cmd.Env = append(t.env(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=tour", "GIT_AUTHOR_EMAIL=tour@localhost",
		"GIT_COMMITTER_NAME=tour", "GIT_COMMITTER_EMAIL=tour@localhost")
	if out, err := cmd.CombinedOutput(); err != nil {
		return diag.New(diag.ExecutionFailed, "running git %s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	if slices.Contains(args, "tag") {
		t.c.UI.Out("")
	}
	return nil
}

// as runs f with the home of another person.
func (t *tour) as(who string, f func() error) error {
	t.who = who
	defer func() { t.who = "" }()
	return f()
}

// tourTool returns a tool for the shell that most machines have, or one that
// needs no interpreter.
func tourTool() (name, text string) {
	if _, err := exec.LookPath("bash"); err == nil {
		b, _ := templates.ReadFile("templates/tool.sh")
		return "hello.sh", tourFill(b)
	}
	b, _ := templates.ReadFile("templates/tour.yaml")
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

func (t *tour) say(text string) { t.c.UI.Out("%s", t.c.UI.Style(cli.Bold, "# "+text)) }

// rye runs one real command, shows it, and fails when its exit status is not
// the one the tour promises.
func (t *tour) rye(ctx context.Context, want int, say string, args ...string) error {
	if t.c.Self == "" {
		return diag.New(diag.FileSystemError, "starting the tour: this program does not know its own path")
	}
	args, file := redirected(args)
	cmd := exec.CommandContext(ctx, t.c.Self, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = t.project, t.env(), 5*time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return diag.New(diag.ExecutionFailed, "running rye %s: %w", args[0], err)
	}
	step := tourStep{Say: say, Who: t.who, Command: "rye " + strings.Join(args, " "), Exit: cmd.ProcessState.ExitCode(), Output: out.String()}
	if file != "" {
		step.Command, step.Output = step.Command+" > "+file, ""
		if err := t.write(file, out.String()); err != nil {
			return err
		}
	}
	t.Steps = append(t.Steps, step)
	t.show(step)
	if step.Exit != want {
		return diag.New(diag.ExecutionFailed, "touring: %s ended with status %d, but %d was promised", step.Command, step.Exit, want)
	}
	return nil
}

// redirected splits a redirection off the end of a command.
func redirected(args []string) (rest []string, file string) {
	if n := len(args); n > 2 && args[n-2] == ">" {
		return args[:n-2], args[n-1]
	}
	return args, ""
}

func (t *tour) show(s tourStep) {
	ui := t.c.UI
	if s.Say != "" {
		t.say(s.Say)
	}
	ui.Out("%s", ui.Style(cli.Cyan, s.Who+"$ "+s.Command))
	if s.Output != "" {
		ui.Text(s.Output)
	}
	if s.Exit != 0 {
		ui.Out("%s", ui.Style(cli.Dim, fmt.Sprintf("(exit status %d)", s.Exit)))
	}
	ui.Out("")
}

// env gives the commands a home of their own and nothing of the caller's keys
// or agent.
func (t *tour) env() []string {
	home := filepath.Join(t.dir, "home"+t.who)
	env := []string{"HOME=" + home, "USERPROFILE=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"),
		"XDG_DATA_HOME=" + filepath.Join(home, ".local", "share"), "XDG_STATE_HOME=" + filepath.Join(home, ".local", "state"),
		"XDG_CACHE_HOME=" + filepath.Join(home, ".cache"), "AppData=" + filepath.Join(home, "AppData"),
		"LocalAppData=" + filepath.Join(home, "LocalAppData"), "NO_COLOR=1"}
	for _, key := range []string{"PATH", "TMPDIR", "TEMP", "TMP", "SystemRoot", "PATHEXT"} {
		if v := t.c.Getenv(key); v != "" {
			env = append(env, key+"="+v)
		}
	}
	return env
}
