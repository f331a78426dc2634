package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/sourcetest"
	"github.com/ryeos/rye/packages/source"
)

// TestMain makes the test program its own child, as rye is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == ChildVerb {
		os.Exit(Child(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// self returns the test program.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The child performs one request and refuses everything else, before it writes anything.
func TestChildReadsOneRequest(t *testing.T) {
	good := `{"op":"refs","url":"file:///nowhere","limit":1,"want":{"oids":null},"part":{"from":""}}` + "\n"
	for name, in := range map[string]string{
		"nothing":       "",
		"two requests":  good + good,
		"no end":        strings.TrimSuffix(good, "\n"),
		"not JSON":      "refs file:///nowhere\n",
		"unknown field": `{"op":"refs","url":"file:///nowhere","run":"id"}` + "\n",
		"operation":     `{"op":"run","url":"file:///nowhere"}` + "\n",
		"ssh":           `{"op":"refs","url":"ssh://git@example.com/x"}` + "\n",
		"ext":           `{"op":"refs","url":"ext::sh -c id"}` + "\n",
		"an option":     `{"op":"refs","url":"--upload-pack=id"}` + "\n",
		"too long":      strings.Repeat(" ", maxRequest) + good,
	} {
		code, out, text := runChild(t, in)
		if code != 2 || out != "" || !strings.Contains(text, "reading the request: ") {
			t.Errorf("%s: exit status %d, %q, %q", name, code, out, text)
		}
	}
	code, out, _ := runChild(t, good)
	if code != 0 || !strings.Contains(out, string(diag.SourceNotFound)) {
		t.Errorf("a request: exit status %d, %q", code, out)
	}
}

func runChild(t *testing.T, in string) (code int, out, text string) {
	t.Helper()
	c := exec.Command(self(t), ChildVerb)
	var stdout, stderr bytes.Buffer
	c.Stdin = strings.NewReader(in)
	c.Stdout = &stdout
	c.Stderr = &stderr
	_ = c.Run() // the exit status is compared
	return c.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// A child has no variable of the user but those for proxies and certificates.
func TestChildEnvironment(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho $# $1 > "+dir+"/args\nexport -p > "+dir+"/env\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, way{"go over http", BuiltIn, true})
	s := b.source(func(p *Params) {
		p.Self = program
		p.Environ = append(p.Environ, "HTTPS_PROXY=http://127.0.0.1:1", "no_proxy=127.0.0.1", "API_TOKEN=secret", "GIT_ASKPASS=secret",
			"SSH_AUTH_SOCK=secret", "NETRC=secret", "GODEBUG=secret", "LD_PRELOAD_X=secret")
	})
	_, err := s.Versions(b.Context(), b.id)
	want(t, err, diag.Internal, b.url, "exit status 3")
	text, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); strings.Contains(got, "secret") || !strings.Contains(got, "HTTPS_PROXY=") || !strings.Contains(got, "no_proxy=") {
		t.Errorf("the environment is %s", got)
	}
	if args, err := os.ReadFile(filepath.Join(dir, "args")); err != nil || string(args) != "1 "+ChildVerb+"\n" {
		t.Errorf("the arguments are %q, %v", args, err)
	}
}

// A child that is killed in the middle of a pack leaves nothing, and the next one fetches.
func TestKilledClient(t *testing.T) {
	b := newBench(t, way{"go over http", BuiltIn, true})
	b.repo.Light("v1.0.0", b.repo.Commit(sourcetest.Bundle("1")...))
	s := b.source()
	o := b.resolve(s, b.id, "v1.0.0")
	reached := make(chan struct{}, 1)
	b.server.Fault(func(w http.ResponseWriter, r *http.Request, git http.Handler) {
		if r.Method != http.MethodPost {
			git.ServeHTTP(w, r)
			return
		}
		half := &until{ResponseWriter: w, left: 100}
		git.ServeHTTP(half, r)
		reached <- struct{}{}
		<-r.Context().Done()
	})
	done := make(chan error, 1)
	go func() {
		_, err := s.Fetch(b.Context(), o)
		done <- err
	}()
	<-reached
	temporary := filepath.Join(b.cache, "git", "*", filesGit, "objects", "pack", "tmp_*")
	for deadline := time.Now().Add(10 * time.Second); len(found(temporary)) == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if len(found(temporary)) == 0 {
		t.Fatal("the child writes no pack")
	}
	if killChildren(t) == 0 {
		t.Skip("children cannot be found on this system")
	}
	err := <-done
	want(t, err, diag.LimitExceeded, b.url) // as if the system had ended it for its memory
	if snaps, _ := source.NewCache(b.cache, nil).Store.Snapshots(); len(snaps) > 0 {
		t.Errorf("the cache has %v", snaps)
	}
	b.server.Fault(nil)
	s = b.source()
	b.fetch(s, b.resolve(s, b.id, "v1.0.0"))
	if left := found(temporary); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// killChildren kills the children of this process that are clients of git and returns their
// number.
func killChildren(t *testing.T) (n int) {
	t.Helper()
	for _, pid := range sourcetest.Children(os.Getpid(), ChildVerb) {
		p, err := os.FindProcess(pid)
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func found(pattern string) []string {
	paths, _ := filepath.Glob(pattern)
	return paths
}

// until passes some bytes on and no more.
type until struct {
	http.ResponseWriter
	left int
}

func (u *until) Write(p []byte) (int, error) {
	n := min(u.left, len(p))
	u.left -= n
	if _, err := u.ResponseWriter.Write(p[:n]); err != nil {
		return 0, err
	}
	u.ResponseWriter.(http.Flusher).Flush()
	return len(p), nil
}

// Files up to the limit of a bundle are fetched, and larger files outside the bundle do not
// take memory.
func TestLargeFiles(t *testing.T) {
	if os.Getenv("RYE_LONG") == "" {
		t.Skip("fetches 260 MB; RYE_LONG=1 runs it")
	}
	b := newBench(t, way{"go over http", BuiltIn, true})
	b.repo.Git("", "config", "core.bigFileThreshold", "1m")
	b.repo.Light("v1.0.0", b.repo.Commit(sourcetest.Bundle("1",
		sourcetest.File{Path: ".ai/knowledge/large", Data: strings.Repeat("0123456789abcdef", 4<<20)},
		sourcetest.File{Path: "larger", Data: strings.Repeat("0", 200<<20)})...))
	s := b.source()
	snap := b.fetch(s, b.resolve(s, b.id, "v1.0.0"))
	if text, err := snap.Read(".ai/knowledge/large"); err != nil || len(text) != 64<<20 {
		t.Errorf("read %d bytes, %v", len(text), err)
	}
}

// Every field of an error passes from the child to its parent.
func TestFailure(t *testing.T) {
	finding := diag.Errorf(diag.NotRegular, 1, 2, "it is a link").WithReason("link", "target", "x")
	finding.Path = ".ai/x"
	in := diag.New(diag.Network, "fetching x: %w", errNotOffered).WithReason("remote").WithDetail("url", "x")
	in.Findings = []diag.Finding{finding}
	in.Retryable = true
	b := &bytes.Buffer{}
	w := frames{bufio.NewWriter(b)}
	if err := errors.Join(w.fail(in), w.w.Flush()); err != nil {
		t.Fatal(err)
	}
	var out *diag.Error
	if err := readFrames(b, nil); !errors.As(err, &out) || !errors.Is(err, errNotOffered) {
		t.Fatalf("%v", err)
	}
	same := out.Code == in.Code && out.Error() == in.Error() && out.Reason == in.Reason && out.Details["url"] == "x" && out.Retryable
	if !same || !slices.EqualFunc(out.Findings, in.Findings, diag.Finding.Equal) || out.Findings[0].Facts["target"] != "x" {
		t.Errorf("%+v, want %+v", out, in)
	}
}
