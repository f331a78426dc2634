//go:build unix

package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/testing/testkit"
)

// crashLab is a lab whose directories are below one root, so that a state of all
// of them can be restored.
type crashLab struct {
	lab
	root, saved string
}

func newCrashLab(t *testing.T) *crashLab {
	t.Helper()
	// Memory: some thousand fsyncs take minutes on a disk. A short path: a bundle of
	// file:// is installed below all its elements.
	top, err := os.MkdirTemp("/dev/shm", "crash")
	if err != nil {
		top, err = os.MkdirTemp("", "crash")
	}
	if err == nil {
		top, err = filepath.EvalSymlinks(top)
	}
	if err != nil {
		t.Fatal(err)
	}
	l := &crashLab{lab: *newLab(t), root: filepath.Join(top, "root"), saved: filepath.Join(top, "saved")}
	t.Cleanup(func() {
		writable(top)
		if err := os.RemoveAll(top); err != nil {
			t.Error(err)
		}
	})
	l.home, l.dir = filepath.Join(l.root, "home"), filepath.Join(l.root, "project")
	for _, dir := range []string{l.home, l.dir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l.gitConfig()
	l.clock(0)
	return l
}

// clock sets the clock of the commands. Each runs two seconds after the one before,
// so that what depends on the second does not depend on the machine.
func (l *crashLab) clock(ahead time.Duration) {
	now := time.Now().Add(ahead)
	l.more = func() []string {
		now = now.Add(2 * time.Second)
		return []string{"TEST_NOW=" + now.UTC().Format(time.RFC3339), "GIT_CONFIG_NOSYSTEM=1"}
	}
}

func (l *crashLab) gitConfig() {
	text := "[user]\n\tname = Ada\n\temail = ada@example.test\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n"
	if err := os.WriteFile(filepath.Join(l.home, ".gitconfig"), []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

// of returns the lab of another user, who works in another directory.
func (l *crashLab) of(user, dir string) *crashLab {
	other := *l
	other.home, other.dir = filepath.Join(l.root, user), filepath.Join(l.root, dir)
	for _, dir := range []string{other.home, other.dir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			l.t.Fatal(err)
		}
	}
	other.gitConfig()
	return &other
}

// git runs git in the project and returns its output.
func (l *crashLab) git(args ...string) string {
	l.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = l.dir, append(l.env(), "GIT_OPTIONAL_LOCKS=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// save keeps the state of all directories, and restore returns to it.
func (l *crashLab) save() {
	if err := os.CopyFS(l.saved, os.DirFS(l.root)); err != nil {
		l.t.Fatal(err)
	}
	l.sameModes(l.root, l.saved)
}

func (l *crashLab) restore() {
	l.t.Helper()
	writable(l.root)
	err := os.RemoveAll(l.root)
	if err == nil {
		err = os.CopyFS(l.root, os.DirFS(l.saved))
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.sameModes(l.saved, l.root)
}

// sameModes gives the files below to the modes of those below from, which CopyFS
// changes by the umask.
func (l *crashLab) sameModes(from, to string) {
	l.t.Helper()
	var dirs []func() error
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if d.IsDir() {
			dirs = append(dirs, func() error { return os.Chmod(filepath.Join(to, rel), info.Mode().Perm()) })
			return err
		}
		return errors.Join(err, os.Chmod(filepath.Join(to, rel), info.Mode().Perm()), os.Chtimes(filepath.Join(to, rel), info.ModTime(), info.ModTime()))
	})
	for _, chmod := range slices.Backward(dirs) {
		err = errors.Join(err, chmod())
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// trace runs a command and kills it at change n, 0 for never.
func (l *crashLab) trace(program string, args []string, n int) (testkit.Traced, string) {
	l.t.Helper()
	counted, err := exec.LookPath(cmp.Or(program, "rye"))
	if err != nil {
		l.t.Fatal(err)
	}
	filter, err := exec.LookPath("traced")
	if err != nil {
		l.t.Fatal(err)
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		l.t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(filepath.Dir(l.root), "output"))
	if err != nil {
		l.t.Fatal(err)
	}
	defer out.Close()
	p := testkit.Trace{Filter: filter, Program: counted, Args: append([]string{path}, args[1:]...), Dir: l.dir, Env: l.env(), Output: out, Kill: n}
	got, err := p.Run()
	if errors.Is(err, testkit.ErrNoTracer) {
		l.t.Skip(err)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		l.t.Fatal(err)
	}
	return got, string(text)
}

// crashState is what the checks compare.
type crashState struct {
	status   int                 // of rye verify
	findings map[string]bool     // of rye verify: severity, code and path
	git      map[string]bool     // the lines of git status
	files    map[string][]string // by the path without digests: mode and digest of the content
}

var digits = regexp.MustCompile(`[0-9a-f]{16,64}`)

func (l *crashLab) state() crashState {
	l.t.Helper()
	s := crashState{git: l.gitStatus()}
	s.status, s.findings = l.findings()
	s.files = l.files()
	return s
}

func (l *crashLab) gitStatus() map[string]bool {
	out := map[string]bool{}
	if _, err := os.Lstat(filepath.Join(l.dir, ".git")); err == nil {
		for line := range strings.Lines(l.git("status", "--porcelain", "--untracked-files=all")) {
			out[digits.ReplaceAllString(strings.TrimRight(line, "\n"), "#")] = true
		}
		for line := range strings.Lines(l.git("for-each-ref", "--format=ref %(objecttype) %(refname)")) {
			out[strings.TrimRight(line, "\n")] = true
		}
	}
	return out
}

// findings returns the result of rye verify. Without a project it has none.
func (l *crashLab) findings() (int, map[string]bool) {
	l.t.Helper()
	stdout, all, status := l.run("verify", "--json")
	type found struct {
		Findings []struct{ Path, Severity, Code string }
	}
	var doc struct {
		Data  *found
		Error *struct {
			Code string
			Data *found
		}
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		l.t.Fatalf("%v\n%s", err, all)
	}
	out := map[string]bool{}
	list := doc.Data
	if doc.Error != nil {
		out["error "+doc.Error.Code] = true
		list = doc.Error.Data
	}
	if list != nil {
		for _, f := range list.Findings {
			out[digits.ReplaceAllString(f.Severity+" "+f.Code+" "+f.Path, "#")] = true
		}
	}
	return status, out
}

// files lists everything below the root but the cache, which may be removed at any
// time, and what git itself keeps.
func (l *crashLab) files() map[string][]string {
	l.t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(l.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case path == filepath.Join(l.home, "cache"):
			return fs.SkipDir
		case filepath.Base(filepath.Dir(path)) == ".git" && d.Name() != "hooks" && d.Name() != "info":
			return skip(d)
		}
		rel, _ := filepath.Rel(l.root, path)
		if temporary.MatchString(rel) || staging.MatchString(d.Name()) {
			return skip(d) // garbage returns it
		}
		key := digits.ReplaceAllString(rel, "#")
		info, err := d.Info()
		if err != nil || d.IsDir() {
			out[key+"/"] = append(out[key+"/"], info.Mode().String())
			return err
		}
		b := []byte{}
		if info.Mode().IsRegular() {
			b, err = os.ReadFile(path)
		}
		out[key] = append(out[key], fmt.Sprintf("%s %x", info.Mode(), sha256.Sum256(b)))
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// garbage returns temporary files and staging directories.
func (l *crashLab) garbage() []string {
	l.t.Helper()
	var out []string
	err := filepath.WalkDir(l.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (strings.HasPrefix(d.Name(), ".rye-tmp-") || staging.MatchString(d.Name()) && d.IsDir()) {
			rel, _ := filepath.Rel(l.root, path)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return out
}

var temporary = regexp.MustCompile(`\.rye-tmp-[A-Z2-7]{26}`)

// staging matches the names that internal/stagedir gives to directories.
var staging = regexp.MustCompile(`^(bundles|mcp)-[A-Z2-7]{26}$`)

// signature matches a signature line, and its groups the hash of the body and the
// fingerprint of the key.
var signature = regexp.MustCompile(`(?m)^.*rye:signed:[^:\n]*:[^:\n]*:[^:\n]*:([0-9a-f]*):[^:\n]*:([0-9a-f]{64}).*\n`)

// unlogged describes files with a signature by a key of the user that is not in the
// log of signatures.
func (l *crashLab) unlogged() (out []string) {
	l.t.Helper()
	log, err := os.ReadFile(filepath.Join(l.home, "state", "rye", "signatures.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(l.dir, ".ai"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || temporary.MatchString(path) {
			return err
		}
		b, err := os.ReadFile(path)
		line := signature.FindSubmatch(b)
		if err != nil || line == nil {
			return err
		}
		if _, err := os.Lstat(filepath.Join(l.home, "data", "rye", "keys", "key-"+string(line[2])+".pem")); err != nil {
			return nil
		}
		item, detached := strings.CutSuffix(path, extract.DetachedExt)
		if detached {
			if b, err = os.ReadFile(item); err != nil {
				return nil // it is written after its signature
			}
		}
		if body := bytes.Replace(b, line[0], nil, 1); !detached && string(line[1]) != fmt.Sprintf("%x", sha256.Sum256(body)) {
			return nil // it was edited since
		}
		if !bytes.Contains(log, fmt.Appendf(nil, "%x", sha256.Sum256(b))) {
			out = append(out, filepath.Base(path)+" is signed, and the log has no entry of it")
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.t.Fatal(err)
	}
	return out
}

// killsAt returns the first change at which a run is killed, and the distance of the
// next ones: about some kills in all, each with RYE_CRASH=all, and with RYE_CRASH=2/3 the
// second of each three.
func killsAt(t *testing.T, changes, some int) (first, every int) {
	switch text := os.Getenv("RYE_CRASH"); text {
	case "":
		return 1, max(1, changes/some)
	case "all":
		return 1, 1
	default:
		if n, err := fmt.Sscanf(text, "%d/%d", &first, &every); n != 2 || err != nil || first < 1 || first > every {
			t.Fatalf("RYE_CRASH=%s is not all, nor a share as 2/3", text)
		}
		return first, every
	}
}
