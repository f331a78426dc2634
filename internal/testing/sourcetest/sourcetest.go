// Package sourcetest creates git repositories with constant object names, and serves
// them over HTTP with the faults that a test sets.
//
// Only tests import it. It contains no checks: an error of its own fails the test at
// once.
package sourcetest

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"errors"
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

// NewRepo creates an empty repository at dir. It writes the files that git init and git
// config would, without starting a process: most tests create several repositories.
func NewRepo(t testing.TB, dir string, format ...string) *Repo {
	t.Helper()
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	if slices.Contains(format, SHA256) {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
	}
	for _, sub := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(sub)), 0o700)
		if err != nil {
			t.Fatalf("creating a repository: %v", err)
		}
	}
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": config + "[uploadpack]\n\tallowFilter = true\n"} {
		err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
		if err != nil {
			t.Fatalf("creating a repository: %v", err)
		}
	}
	return &Repo{T: t, Dir: dir}
}

// Environ is an environment without a user and settings of git.
func Environ(more ...string) []string {
	return append(
		[]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
			"TMPDIR=" + os.TempDir(), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "LC_ALL=C"},
		more...,
	)
}

func command(dir string, args ...string) *exec.Cmd {
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = Environ("GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=1700000000 +0000")
	return c
}

// Git runs git in the repository and returns its output, trimmed.
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
func (r *Repo) Commit(files ...File) string {
	return r.CommitTo("main", files...)
}

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
		fmt.Fprintf(
			&b,
			"M %s inline %s\ndata %d\n%s\n",
			mode,
			quote(f.Path),
			len(f.Data),
			f.Data,
		)
	}
	b.WriteString("\nget-mark :1\ndone\n")
	return r.Git(b.String(), "fast-import", "--quiet", "--done", "--date-format=raw", "--force")
}

// quote writes a path as git fast-import reads it.
func quote(p string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(p) + `"`
}

// has reports whether a ref exists, which git does not pack by itself in so small a repository.
func (r *Repo) has(ref string) bool {
	_, err := os.Stat(r.refFile(ref))
	return err == nil
}

func (r *Repo) refFile(ref string) string {
	return filepath.Join(r.Dir, filepath.FromSlash(ref))
}

// Tag creates or moves an annotated tag and returns the name of its object.
func (r *Repo) Tag(name, commit string) string {
	r.T.Helper()
	r.Git("", "tag", "--force", "--annotate", "--no-sign", "--message="+name, name, commit)
	id, err := os.ReadFile(r.refFile("refs/tags/" + name))
	if err != nil {
		r.T.Fatalf("reading a tag: %v", err)
	}
	return strings.TrimSpace(string(id))
}

// Light creates or moves a lightweight tag.
func (r *Repo) Light(name, commit string) {
	r.T.Helper()
	err := os.WriteFile(r.refFile("refs/tags/"+name), []byte(commit+"\n"), 0o600)
	if err != nil {
		r.T.Fatalf("writing a tag: %v", err)
	}
}

// Object stores an object with a SHA-1 name and returns the name. It may be one that git
// does not write, such as a tree with a file "..".
func (r *Repo) Object(kind, data string) string {
	r.T.Helper()
	text := fmt.Sprintf("%s %d\x00%s", kind, len(data), data)
	id := fmt.Sprintf("%x", sha1.Sum([]byte(text)))
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	file := filepath.Join(r.Dir, "objects", id[:2], id[2:])
	err := errors.Join(
		os.MkdirAll(filepath.Dir(file), 0o700),
		os.WriteFile(file, b.Bytes(), 0o600),
	)
	if err != nil {
		r.T.Fatalf("writing an object: %v", err)
	}
	return id
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
func (r *Repo) URL() string {
	return "file://" + filepath.ToSlash(r.Dir)
}

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
