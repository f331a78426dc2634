// Package gitcmd runs git plumbing: it finds git, gives it an environment in
// which neither the repository nor the person's configuration changes what
// comes out, and reads what it prints.
//
// It is the only place that runs git. It never runs hooks, filters, pagers or
// external diffs, asks nobody, and knows nothing of items and signatures.
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

// Params says where to work. Dir is required.
type Params struct {
	Dir     string   // a folder of the work tree, or a bare repository
	Cwd     string   // what relative paths in GIT_… variables count from; "" means Dir
	Environ []string // nil means an empty environment, in which no git is found
}

// Git runs git in one folder with one environment. It is safe for concurrent
// use.
type Git struct {
	path string
	dir  string
	env  []string
}

// New finds git. Nothing is started.
func New(p Params) (*Git, error) {
	if p.Cwd == "" {
		p.Cwd = p.Dir
	}
	path, err := proc.LookPath("git", p.Environ)
	if err != nil {
		return nil, diag.New(diag.ExecutionFailed, "looking for git: %w", err).WithHint("install git, or put its folder into PATH")
	}
	g := &Git{path: path, dir: p.Dir, env: environ(p)}
	if _, set := proc.Lookup(g.env, "GIT_DIR"); set {
		g.dir = p.Cwd // with GIT_DIR and no GIT_WORK_TREE, the folder is the work tree
	}
	return g, nil
}

// environ keeps what tells git where the repository is, and drops what changes
// how it lists.
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

// located are the variables that hold paths.
func located() []string {
	return []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"}
}

// dropped are the variables that change what plumbing prints, or that clash
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

// command returns a git command that reads no hooks.
func (g *Git) command(ctx context.Context, args ...string) *exec.Cmd {
	fixed := []string{"--no-pager", "--no-optional-locks", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false",
		"-c", "core.hooksPath=" + os.DevNull}
	cmd := exec.CommandContext(ctx, g.path, append(fixed, args...)...)
	cmd.Dir, cmd.Env = g.dir, g.env
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// run returns what git printed. The error carries git's own last words.
func (g *Git) run(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return output(ctx, g.command(ctx, args...), stdin, args[0])
}

func output(ctx context.Context, cmd *exec.Cmd, stdin io.Reader, verb string) ([]byte, error) {
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &said
	if err := cmd.Run(); err != nil {
		return out.Bytes(), failed(ctx, verb, err, said.String())
	}
	return out.Bytes(), nil
}

func failed(ctx context.Context, verb string, err error, said string) error {
	if ctx.Err() != nil {
		return diag.New(diag.Cancelled, "running git %s: %w", verb, ctx.Err())
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return diag.New(diag.ExecutionFailed, "running git %s: %w", verb, err)
	}
	text := lastLine(said)
	if strings.Contains(said, "not a git repository") {
		return diag.New(diag.SourceNotFound, "running git %s: %s", verb, text).WithHint("run it in a git repository")
	}
	e := diag.New(diag.ExecutionFailed, "running git %s: %s", verb, text)
	if strings.Contains(said, "tell me who you are") {
		return e.WithHint("git config --global user.name NAME; git config --global user.email ADDRESS")
	}
	return e
}

// lastLine returns the first fatal line of what git said, else its last line.
func lastLine(said string) string {
	last := "it failed and said nothing"
	for line := range strings.Lines(said) {
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
