// Package sourcetest creates git repositories with constant object names, and serves
// them over HTTP with the faults that a test sets.
//
// Only tests import it. It contains no checks: an error of its own fails the test at
// once.
package sourcetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Repo is a bare repository on this machine.
type Repo struct {
	T    testing.TB
	Dir  string
	tick int
}

// File is one file of a commit. Mode is as git writes it; "" is 100644.
type File struct {
	Path, Data, Mode string
}

// SHA256 is the format of a repository whose objects have SHA-256 names.
const SHA256 = "sha256"

// NewRepo creates an empty repository at dir.
func NewRepo(t testing.TB, dir string, format ...string) *Repo {
	t.Helper()
	r := &Repo{T: t, Dir: dir}
	args := []string{"init", "--quiet", "--bare", "--initial-branch=main"}
	for _, f := range format {
		args = append(args, "--object-format="+f)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := command(filepath.Dir(dir), append(args, dir)...).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	r.Git("", "config", "uploadpack.allowFilter", "true")
	return r
}

// Environ is an environment without a user and settings of git.
func Environ(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"TMPDIR=" + os.TempDir(), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "LC_ALL=C"}, more...)
}

func command(dir string, args ...string) *exec.Cmd {
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = Environ("GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=1700000000 +0000")
	return c
}

// Git runs git in the repository and returns what it printed, trimmed.
func (r *Repo) Git(stdin string, args ...string) string {
	r.T.Helper()
	c := command(r.Dir, args...)
	c.Stdin = strings.NewReader(stdin)
	out, err := c.Output()
	if err != nil {
		stderr := ""
		if e, ok := err.(*exec.ExitError); ok {
			stderr = string(e.Stderr)
		}
		r.T.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return strings.TrimSpace(string(out))
}

// Commit adds a commit with exactly these files to main and returns its name.
// Commits are a minute apart, the first is of 14 November 2023, 22:13:20.
func (r *Repo) Commit(files ...File) string { return r.CommitTo("main", files...) }

// CommitTo is Commit for another branch; a new one has no parent.
func (r *Repo) CommitTo(branch string, files ...File) string {
	r.T.Helper()
	var b strings.Builder
	r.tick++
	when := 1700000000 + 60*(r.tick-1)
	fmt.Fprintf(&b, "commit refs/heads/%s\nmark :1\nauthor A <a@example.com> %d +0000\ncommitter A <a@example.com> %d +0000\n", branch, when, when)
	message := fmt.Sprintf("commit %d\n", r.tick)
	fmt.Fprintf(&b, "data %d\n%s\n", len(message), message)
	if r.has("refs/heads/" + branch) {
		fmt.Fprintf(&b, "from refs/heads/%s^0\n", branch)
	}
	b.WriteString("deleteall\n")
	for _, f := range files {
		mode := f.Mode
		if mode == "" {
			mode = "100644"
		}
		if mode == "160000" {
			fmt.Fprintf(&b, "M 160000 %s %s\n", f.Data, quote(f.Path))
			continue
		}
		fmt.Fprintf(&b, "M %s inline %s\ndata %d\n%s\n", mode, quote(f.Path), len(f.Data), f.Data)
	}
	b.WriteString("\ndone\n")
	r.Git(b.String(), "fast-import", "--quiet", "--done", "--date-format=raw", "--force")
	return r.Git("", "rev-parse", "refs/heads/"+branch)
}

// quote writes a path as git fast-import reads it.
func quote(p string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(p) + `"`
}

func (r *Repo) has(ref string) bool {
	c := command(r.Dir, "show-ref", "--verify", "--quiet", ref)
	return c.Run() == nil
}

// Tag creates or moves an annotated tag and returns the name of its object.
func (r *Repo) Tag(name, commit string) string {
	r.T.Helper()
	r.Git("", "tag", "--force", "--annotate", "--no-sign", "--message="+name, name, commit)
	return r.Git("", "rev-parse", "refs/tags/"+name)
}

// Light creates or moves a lightweight tag.
func (r *Repo) Light(name, commit string) {
	r.T.Helper()
	r.Git("", "update-ref", "refs/tags/"+name, commit)
}

// Orphan adds a commit that no branch or tag contains, as hosts serve commits of forks
// under the address of the original.
func (r *Repo) Orphan(files ...File) string {
	r.T.Helper()
	id := r.CommitTo("rye-orphan", files...)
	r.Git("", "update-ref", "-d", "refs/heads/rye-orphan")
	return id
}

// URL returns the file address of the repository.
func (r *Repo) URL() string { return "file://" + filepath.ToSlash(r.Dir) }

// Bundle returns the files of a small bundle. Different texts make different bundles.
func Bundle(text string, more ...File) []File {
	return slices.Concat([]File{
		{Path: "README.md", Data: "not carried\n"},
		{Path: "rye.yaml", Data: "rye: 1\nname: example.com/x\n"},
		{Path: ".ai/tools/x/hello.py", Data: "print(" + text + ")\n"},
		{Path: ".ai/tools/x/run.sh", Data: "#!/bin/sh\necho " + text + "\n", Mode: "100755"},
		{Path: ".ai/bundles/x/manifest.yaml", Data: "bundle: {id: x}\n"},
		{Path: ".ai/trust/key-x.toml", Data: "never carried\n"},
	}, more)
}
