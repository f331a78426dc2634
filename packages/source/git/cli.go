package git

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
)

// command is the git command with an environment in which it asks nobody, runs
// nothing of a repository and reads nothing of the project it was called in.
// What the person configured for git itself counts: credential helpers,
// proxies, certificates, insteadOf, ssh.
type command struct {
	path        string
	env         []string
	interactive bool
	dir         string // an existing folder that is in no repository
}

// allowed are the transports that git may use.
const allowed = "http:https:ssh:file"

func newCommand(environ []string, interactive bool, dir string) (*command, error) {
	path, err := proc.LookPath("git", environ)
	if err != nil {
		return nil, err
	}
	var env []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if keep(name) {
			env = append(env, kv)
		}
	}
	env = append(env, "LC_ALL=C", "LANGUAGE=", "GIT_ALLOW_PROTOCOL="+allowed, "GIT_PROTOCOL_FROM_USER=0", "GIT_ADVICE=0",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_PAGER=cat")
	if !interactive {
		env = append(env, "GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never", "SSH_ASKPASS_REQUIRE=never")
		_, own := proc.Lookup(env, "GIT_SSH_COMMAND")
		if _, older := proc.Lookup(env, "GIT_SSH"); !own && !older {
			env = append(env, "GIT_SSH_COMMAND=ssh -o BatchMode=yes")
		}
	}
	return &command{path: path, env: env, interactive: interactive, dir: dir}, nil
}

// keep says which variables git sees. Those that say where a repository is, or
// carry settings of a caller's git, would make it work somewhere else: rye may
// run inside a hook.
func keep(name string) bool {
	switch {
	case name == "LC_ALL" || name == "LANGUAGE" || name == "SSH_ASKPASS":
		return false
	case !strings.HasPrefix(name, "GIT_"):
		return true
	case strings.HasPrefix(name, "GIT_SSL_") || strings.HasPrefix(name, "GIT_CONFIG_KEY_") || strings.HasPrefix(name, "GIT_CONFIG_VALUE_"):
		return true
	}
	return slices.Contains([]string{"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_EXEC_PATH", "GIT_CONFIG_COUNT",
		"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_PROXY_SSL_CAINFO", "GIT_HTTP_USER_AGENT"}, name)
}

// settings are given to every call. Hooks exist for fetches too
// (reference-transaction), and a server can name other addresses to get packs
// from.
func settings() []string {
	var out []string
	for _, kv := range []string{
		"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.alternateRefsCommand=", "gc.auto=0", "maintenance.auto=false",
		"http.followRedirects=false", "http.lowSpeedLimit=1", "http.lowSpeedTime=60", "fetch.uriProtocols=", "transfer.bundleURI=false",
		"fetch.recurseSubmodules=false", "fetch.writeCommitGraph=false", "fetch.showForcedUpdates=false", "credential.interactive=false",
		"submodule.recurse=false", "log.showSignature=false", "protocol.version=2", "fetch.unpackLimit=1", "fetch.prune=false",
	} {
		out = append(out, "-c", kv)
	}
	return out
}

// run runs git in a repository, or in none when repo is "". The error carries
// what git said.
func (c *command) run(ctx context.Context, repo, stdin string, more []string, args ...string) (string, error) {
	argv := append([]string{"git", "--no-pager"}, settings()...)
	argv = append(argv, more...)
	if repo != "" {
		argv = append(argv, "--git-dir="+repo)
	}
	argv = append(argv, args...)
	if c.interactive {
		return c.attached(ctx, stdin, argv)
	}
	res, err := proc.Run(ctx, proc.Cmd{Path: c.path, Argv: argv, Dir: c.dir, Env: c.env, Stdin: strings.NewReader(stdin),
		Grace: 300 * time.Millisecond, MaxStdout: 64 << 20, MaxStderr: 64 << 10})
	switch {
	case err != nil:
		return "", err
	case res.StdoutDropped > 0:
		return "", diag.New(diag.TooLarge, "running git: it printed more than 64 MiB")
	case res.ExitCode != 0:
		return "", &said{text: string(res.Stderr)}
	}
	return string(res.Stdout), nil
}

// attached runs git so that it, and ssh below it, can ask at the terminal: in
// our own process group, which the terminal interrupts as a whole.
func (c *command) attached(ctx context.Context, stdin string, argv []string) (string, error) {
	cmd := exec.CommandContext(ctx, c.path, argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.dir, c.env, strings.NewReader(stdin)
	cmd.WaitDelay = time.Second
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", &said{text: errs.String()}
	}
	return out.String(), nil
}

// said is the error for a git that failed.
type said struct{ text string }

// Error returns the last thing that git called fatal, or its last line.
func (s *said) Error() string {
	last := "it failed and said nothing"
	for line := range strings.Lines(s.text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "fatal: "); ok {
			return "git says: " + rest
		}
		if line != "" {
			last = line
		}
	}
	return "git says: " + last
}

func (s *said) any(parts ...string) bool {
	low := strings.ToLower(s.text)
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(low, p) })
}

// watch calls stop when a folder grows beyond a limit, until done is closed:
// git has no limit of its own for what it fetches.
func watch(done <-chan struct{}, dir string, limit int64, sent func(n int64), stop func()) {
	before, last := sizeOf(dir), int64(0)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			n := max(0, sizeOf(dir)-before)
			if n > limit {
				stop()
				return
			}
			if sent != nil && n > last {
				sent(n - last)
				last = n
			}
		}
	}
}

func sizeOf(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil {
			return nil // it was moved meanwhile
		}
		if fi, err := d.Info(); err == nil && !d.IsDir() {
			n += fi.Size()
		}
		return nil
	})
	return n
}
