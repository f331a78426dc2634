package git

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/proc"
)

// command is the git command with an environment in which it does not prompt, runs
// no hooks and ignores the repository of the working directory. The user's own git
// configuration applies: credential helpers, proxies, certificates, insteadOf, ssh.
type command struct {
	path        string
	env         []string
	interactive bool
	dir         string // an existing directory outside every repository
}

// maxLine is the length, in bytes, of a line that is passed as a whole.
const maxLine = 65516

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
		_, set := proc.Lookup(env, "GIT_SSH_COMMAND")
		if _, older := proc.Lookup(env, "GIT_SSH"); !set && !older {
			env = append(env, "GIT_SSH_COMMAND=ssh -o BatchMode=yes")
		}
	}
	return &command{
		path:        path,
		env:         env,
		interactive: interactive,
		dir:         dir,
	}, nil
}

// keep reports whether git gets a variable. Variables that name a repository or pass
// settings of a calling git are removed: rye may run inside a git hook.
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

// settings are arguments of every call. core.hooksPath is among them because fetches
// run hooks, too (reference-transaction); fetch.uriProtocols and transfer.bundleURI
// because a server can name other addresses for packs.
func settings() []string {
	var out []string
	for _, kv := range []string{
		"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.alternateRefsCommand=", "gc.auto=0", "maintenance.auto=false",
		"http.followRedirects=false", "http.lowSpeedLimit=1", "http.lowSpeedTime=60", "fetch.uriProtocols=", "transfer.bundleURI=false",
		"fetch.recurseSubmodules=false", "fetch.writeCommitGraph=false", "fetch.showForcedUpdates=false", "credential.interactive=false",
		"submodule.recurse=false", "log.showSignature=false", "protocol.version=2", "fetch.unpackLimit=1", "fetch.prune=false",
		// Memory: larger blobs are streamed, and caches are small.
		"core.bigFileThreshold=16m", "core.deltaBaseCacheLimit=16m", "core.packedGitLimit=64m", "core.packedGitWindowSize=4m", "pack.threads=1",
	} {
		out = append(out, "-c", kv)
	}
	return out
}

// call is one call of git.
type call struct {
	repo  string // "" for none
	stdin string
	more  []string // options before the verb
	args  []string
	// started, if set, receives the process. It returns a function to call at its end.
	started func(pid int) (ended func())
	// line, if set, receives each line of the output, which is not kept.
	line func(line []byte)
}

// run runs git in a repository, or in none if repo is "", and returns its output. If
// git fails, the error is a *gitError.
func (c *command) run(
	ctx context.Context,
	repo, stdin string,
	more []string,
	args ...string,
) (string, error) {
	return c.do(ctx, call{
		repo:  repo,
		stdin: stdin,
		more:  more,
		args:  args,
	})
}

func (c *command) do(ctx context.Context, one call) (string, error) {
	argv := append([]string{"git", "--no-pager"}, settings()...)
	argv = append(argv, one.more...)
	if one.repo != "" {
		argv = append(argv, "--git-dir="+one.repo)
	}
	argv = append(argv, one.args...)
	if c.interactive {
		return c.attached(ctx, one, argv)
	}
	p := proc.Cmd{
		Path:      c.path,
		Argv:      argv,
		Dir:       c.dir,
		Env:       c.env,
		Stdin:     strings.NewReader(one.stdin),
		Grace:     300 * time.Millisecond,
		MaxStdout: 64 << 20,
		MaxStderr: 64 << 10,
	}
	if one.line != nil {
		p.MaxStdout = -1
		p.OnLine = func(s proc.Stream, line []byte) {
			if s == proc.Stdout {
				one.line(line)
			}
		}
	}
	ended := func() {}
	if one.started != nil {
		p.OnStart = func(pid int) {
			ended = one.started(pid)
		}
	}
	res, err := proc.Run(ctx, p)
	ended()
	switch {
	case err != nil:
		return "", err
	case res.ExitCode != 0:
		return "", &gitError{text: string(res.Stderr)}
	case one.line == nil && res.StdoutDropped > 0:
		return "", diag.New(diag.TooLarge, "running git: it printed more than 64 MiB")
	}
	return string(res.Stdout), nil
}

// attached runs git so that it and ssh can prompt at the terminal. It stays in the
// process group of rye: the terminal interrupts both.
func (c *command) attached(ctx context.Context, one call, argv []string) (string, error) {
	cmd := exec.CommandContext(ctx, c.path, argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.dir, c.env, strings.NewReader(one.stdin)
	cmd.WaitDelay = time.Second
	var out strings.Builder
	errs := &head{left: 64 << 10}
	cmd.Stdout = &out
	cmd.Stderr = errs
	if one.line != nil {
		cmd.Stdout = &splitter{line: one.line}
	}
	err := cmd.Start()
	if err == nil && one.started != nil {
		defer one.started(cmd.Process.Pid)()
	}
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return "", &gitError{text: errs.String()}
	}
	return out.String(), nil
}

// splitter passes each line to a function. A line that does not end is passed in
// pieces.
type splitter struct {
	line func([]byte)
	rest []byte
}

// Write implements io.Writer.
func (s *splitter) Write(b []byte) (int, error) {
	for part := range bytes.Lines(b) {
		s.rest = append(s.rest, part...)
		whole, ends := bytes.CutSuffix(s.rest, []byte("\n"))
		if ends || len(s.rest) > maxLine {
			s.line(whole)
			s.rest = s.rest[:0]
		}
	}
	return len(b), nil
}

// head keeps the beginning of a text.
type head struct {
	strings.Builder
	left int
}

// Write implements io.Writer.
func (h *head) Write(b []byte) (int, error) {
	n := min(h.left, len(b))
	h.left -= n
	h.Builder.Write(b[:n])
	return len(b), nil
}

// gitError is the error of a git command that failed, with its stderr.
type gitError struct{ text string }

// Error returns the report of ssh, else the first line that git calls fatal, else the last
// line, and the text of the remote itself. The line of git after one of ssh is always "Could
// not read from remote repository".
func (e *gitError) Error() string {
	first := ""
	last := "it failed without a message"
	for line := range strings.Lines(e.text) {
		line = strings.TrimSpace(line)
		line = cuttext.Start(line, maxMessage)
		if rest, ok := strings.CutPrefix(line, "ssh: "); ok {
			return "ssh: " + rest + e.remote()
		}
		if rest, ok := strings.CutPrefix(line, "fatal: "); ok && first == "" {
			first = rest
		}
		if line != "" && !strings.HasPrefix(line, "remote:") {
			last = line
		}
	}
	return "git: " + cmp.Or(first, last) + e.remote()
}

// remote returns the text of the other side, in parentheses, or "".
func (e *gitError) remote() string {
	var out []string
	size := 0
	for line := range strings.Lines(e.text) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "remote:")
		if text = strings.TrimSpace(text); !ok || text == "" || size > maxMessage {
			continue
		}
		text = cuttext.Start(text, maxMessage)
		size += len(text)
		out = append(out, text)
	}
	if len(out) == 0 {
		return ""
	}
	return " (the remote writes: " + strings.Join(out, " ") + ")"
}

// maxMessage is the length of a message: a remote can write a line of any length.
const maxMessage = 400

// contains reports whether the text has one of the parts, which are lower case.
func (e *gitError) contains(parts ...string) bool {
	low := strings.ToLower(e.text)
	return slices.ContainsFunc(parts, func(p string) bool {
		return strings.Contains(low, p)
	})
}

// watch calls stop if a directory grows by more than limit bytes, until done is
// closed. git itself has no limit for a fetch.
func watch(done <-chan struct{}, dir string, limit int64, stop func()) {
	before := sizeOf(dir)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			if sizeOf(dir)-before > limit {
				stop()
				return
			}
		}
	}
}

func sizeOf(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil {
			return nil // git renames files meanwhile
		}
		if fi, err := d.Info(); err == nil && !d.IsDir() {
			n += fi.Size()
		}
		return nil
	})
	return n
}
