// Package gitcmd runs git plumbing: it finds git, sets an environment in which
// the configuration of repository and user does not change the output, and
// parses that output. It reads the list of the index from git's own file where it knows
// the form of that file, and writes blobs as git's own files where no setting asks for
// another form.
//
// It does not run hooks, filters, pagers, external diffs, or any other program that
// the configuration of a repository names, does not prompt, and does not know items
// or signatures.
package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
)

// Params configures where git runs. Dir is required.
type Params struct {
	Dir     string   // a directory of the work tree, or a bare repository
	Cwd     string   // the base of relative paths in GIT_… variables; "" means Dir
	Environ []string // nil is an empty environment, in which git is not found
}

// Git runs git in one directory with one environment. It is safe for concurrent
// use.
type Git struct {
	path string
	dir  string
	env  []string

	ahead func() ([]setting, error) // the settings that were read ahead, or nil
}

// New finds git outside of the project and repository that it works on. It does not
// start it. Programs that git starts are found in the same directories.
func New(p Params) (*Git, error) {
	if p.Cwd == "" {
		p.Cwd = p.Dir
	}
	all := p.Environ
	p.Environ = proc.Own(all, p.Dir, p.Cwd)
	path, err := proc.LookPath("git", p.Environ)
	if err != nil {
		if inside, only := proc.LookPath("git", all); only == nil {
			return nil, diag.New(diag.ExecutionFailed, "finding git: the only git in PATH is %s, which belongs to the project", inside).
				WithReason("program_of_project").WithDetail("program", "git")
		}
		return nil, diag.New(diag.ExecutionFailed, "finding git: %w", err).
			WithReason("not_installed").
			WithDetail("program", "git")
	}
	g := &Git{path: path, dir: p.Dir, env: environ(p)}
	if _, set := proc.Lookup(g.env, "GIT_DIR"); set {
		g.dir = p.Cwd // with GIT_DIR and without GIT_WORK_TREE, git uses the current directory as work tree
	}
	return g, nil
}

// environ keeps the variables that locate the repository and removes those that
// change the output.
func environ(p Params) []string {
	var out []string
	for _, kv := range p.Environ {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case slices.Contains(located(), name):
			if value != "" && !filepath.IsAbs(value) {
				kv = name + "=" + filepath.Join(p.Cwd, value)
			}
		case slices.Contains(dropped(), name):
			continue
		}
		out = append(out, kv)
	}
	return append(out, "LC_ALL=C", "LANGUAGE=", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "GIT_LITERAL_PATHSPECS=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_ADVICE=0")
}

// located are the variables with paths.
func located() []string {
	return []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"}
}

// dropped are the variables that change the output of plumbing, or that conflict
// with literal pathspecs.
func dropped() []string {
	return []string{"LC_ALL", "LANGUAGE", "GIT_PAGER", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS",
		"GIT_ICASE_PATHSPECS", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_NO_REPLACE_OBJECTS", "GIT_NO_LAZY_FETCH",
		"GIT_TERMINAL_PROMPT", "GIT_ADVICE", "GIT_TRACE", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE2_PERF"}
}

// WithIndex returns a Git that works on another index file.
func (g *Git) WithIndex(file string) *Git {
	c := *g
	c.env = append(slices.Clone(g.env), "GIT_INDEX_FILE="+file)
	return &c
}

// command returns a git command that runs no hooks.
func (g *Git) command(ctx context.Context, args ...string) *exec.Cmd {
	fixed := []string{"--no-pager", "--no-optional-locks", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false",
		"-c", "core.hooksPath=" + os.DevNull, "-c", "status.submoduleSummary=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}
	cmd := exec.CommandContext(ctx, g.path, append(fixed, args...)...)
	cmd.Dir, cmd.Env = g.dir, append(slices.Clone(g.env), "GIT_ALLOW_PROTOCOL="+noTransports)
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// run returns the standard output of git. The error contains git's last message.
func (g *Git) run(
	ctx context.Context,
	stdin io.Reader,
	args ...string,
) ([]byte, error) {
	return output(ctx, g.command(ctx, args...), stdin, args[0])
}

func output(
	ctx context.Context,
	cmd *exec.Cmd,
	stdin io.Reader,
	verb string,
) ([]byte, error) {
	var out, stderr bytes.Buffer
	cmd.Stdin = stdin
	cmd.Stdout = &out
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return out.Bytes(), failed(ctx, verb, err, stderr.String())
	}
	return out.Bytes(), nil
}

func failed(ctx context.Context, verb string, err error, stderr string) error {
	if ctx.Err() != nil {
		return diag.New(diag.Cancelled, "running git %s: %w", verb, ctx.Err())
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return diag.New(diag.ExecutionFailed, "running git %s: %w", verb, err)
	}
	text := lastLine(stderr)
	if strings.Contains(stderr, "not a git repository") {
		return diag.New(diag.SourceNotFound, "running git %s: %s", verb, text).WithReason("not_a_git_repository")
	}
	e := diag.New(diag.ExecutionFailed, "running git %s: %s", verb, text)
	if strings.Contains(stderr, "tell me who you are") {
		return e.WithReason("git_identity")
	}
	return e
}

// lastLine returns the first fatal line of git's standard error, else the last
// line.
func lastLine(stderr string) string {
	last := "it failed without a message"
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "fatal: "); ok {
			return rest
		}
		last = line
	}
	return last
}
