package git

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/sourcetest"
	"github.com/ryeos/rye/packages/source"
)

// eachHTTP runs a test for every transport over HTTP, with one version there.
func eachHTTP(t *testing.T, fn func(b *bench, c1 string)) {
	for _, w := range ways() {
		if w.http {
			t.Run(w.name, func(t *testing.T) {
				b := newBench(t, w)
				c1 := b.repo.Commit(sourcetest.Bundle("1")...)
				b.repo.Tag("v1.0.0", c1)
				fn(b, c1)
			})
		}
	}
}

// withHelper gives git a credential helper that knows a password for every host,
// the worst that a person can configure.
func withHelper(t *testing.T) func(*Params) {
	t.Helper()
	dir := t.TempDir()
	helper := filepath.Join(dir, "helper")
	if err := os.WriteFile(helper, []byte("#!/bin/sh\necho username=alice\necho password=secret\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "gitconfig")
	if err := os.WriteFile(config, []byte("[credential]\n\thelper = "+helper+"\n[http]\n\tfollowRedirects = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(p *Params) {
		p.Environ = append(slices.DeleteFunc(slices.Clone(p.Environ), func(kv string) bool { return strings.HasPrefix(kv, "GIT_CONFIG_GLOBAL=") }), "GIT_CONFIG_GLOBAL="+config)
	}
}

const aliceSecret = "alice:secret"

func TestRedirectAcrossHosts(t *testing.T) {
	eachHTTP(t, func(b *bench, _ string) {
		elsewhere := sourcetest.Serve(b, b.server.Root)
		host := strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1) // another host
		b.server.Fault(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			if r.Header.Get("Authorization") == "" {
				w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
				http.Error(w, "who?", http.StatusUnauthorized)
				return
			}
			http.Redirect(w, r, host+r.URL.RequestURI(), http.StatusMovedPermanently)
		})
		_, err := b.source(withHelper(b.T)).Versions(b.Context(), b.id)
		if b.transport == Command {
			want(b, err, diag.SourceMoved)
		} else {
			want(b, err, diag.AuthRequired) // the built-in client has no credentials to show
		}
		b.server.Fault(sourcetest.Redirect(host + "/"))
		b.server.Requests()
		_, err = b.source(withHelper(b.T)).Versions(b.Context(), b.id)
		want(b, err, diag.SourceMoved, host+"/acme/core.git")
		var e *diag.Error
		if !errors.As(err, &e) || e.Details["moved_to"] != host+"/acme/core.git" {
			b.Errorf("details %v", e.Details)
		}
		if seen := elsewhere.Requests(); len(seen) != 0 {
			b.Errorf("the other host was asked: %v", seen)
		}
	})
}

// A redirect in the middle, when the list of refs was answered well.
func TestRedirectOfThePack(t *testing.T) {
	eachHTTP(t, func(b *bench, _ string) {
		elsewhere := sourcetest.Serve(b, b.server.Root)
		s := b.source()
		o := b.resolve(s, b.id, "v1.0.0")
		b.server.Fault(func(w http.ResponseWriter, r *http.Request, git http.Handler) {
			if r.Method == http.MethodPost {
				http.Redirect(w, r, elsewhere.URL+r.URL.RequestURI(), http.StatusTemporaryRedirect)
				return
			}
			git.ServeHTTP(w, r)
		})
		_, err := s.Fetch(b.Context(), o)
		want(b, err, diag.SourceMoved)
		if seen := elsewhere.Requests(); len(seen) != 0 {
			b.Errorf("the other host was asked: %v", seen)
		}
	})
}

// A redirect that only appends .git is followed.
func TestRedirectToDotGit(t *testing.T) {
	eachHTTP(t, func(b *bench, c1 string) {
		b.url = strings.TrimSuffix(b.url, ".git")
		b.server.Fault(func(w http.ResponseWriter, r *http.Request, git http.Handler) {
			if !strings.HasPrefix(r.URL.Path, "/acme/core.git/") {
				http.Redirect(w, r, strings.Replace(r.URL.RequestURI(), "/core/", "/core.git/", 1), http.StatusMovedPermanently)
				return
			}
			git.ServeHTTP(w, r)
		})
		s := b.source()
		o := b.resolve(s, b.id, "v1.0.0")
		if o.Commit != c1 || o.URL != b.url {
			b.Errorf("origin %+v", o)
		}
		b.fetch(s, o)
	})
}

func TestTruncatedPack(t *testing.T) {
	if testing.Short() {
		t.Skip("cuts a pack on every transport")
	}
	eachHTTP(t, func(b *bench, _ string) {
		for _, n := range []int{0, 4, 12, 40, 300} {
			s := b.source()
			o := b.resolve(s, b.id, "v1.0.0")
			b.server.Fault(sourcetest.Truncate(n))
			_, err := s.Fetch(b.Context(), o)
			if code := diag.CodeOf(err); code != diag.Network && code != diag.HashMismatch {
				b.Errorf("after %d bytes: %v (%s)", n, err, code)
			}
			b.server.Fault(nil)
		}
		left, _ := filepath.Glob(filepath.Join(b.cache, "git", "*", "*.git", "*", "pack", "tmp_*"))
		keys, _ := source.NewCache(b.cache, nil).Store.Snapshots()
		if len(left)+len(keys) != 0 {
			b.Errorf("left behind: %v %v", left, keys)
		}
		s := b.source()
		b.fetch(s, b.resolve(s, b.id, "v1.0.0")) // and it recovers
	})
}

// A remote that lists one commit and sends another.
func TestLiesAboutRefs(t *testing.T) {
	if testing.Short() {
		t.Skip("asks hostile remotes")
	}
	eachHTTP(t, func(b *bench, c1 string) {
		c2 := b.repo.Commit(sourcetest.Bundle("2")...)
		s := b.source()
		tag := b.resolve(s, b.id, "v1.0.0").TagObject
		// The tag object is right; the list has another commit for it.
		b.server.Fault(sourcetest.Replace(c1, c2))
		s = b.source()
		o := b.resolve(s, b.id, "v1.0.0")
		if o.TagObject != tag || o.Commit != c2 {
			b.Fatalf("the lie did not arrive: %+v", o)
		}
		_, err := s.Fetch(b.Context(), o)
		want(b, err, diag.ImpostorCommit, c1, c2)
		// A tag object that does not exist.
		b.server.Fault(sourcetest.Replace(tag, strings.Repeat("7", 40)))
		s = b.source()
		_, err = s.Fetch(b.Context(), b.resolve(s, b.id, "v1.0.0"))
		want(b, err, diag.Network)
		if keys, _ := s.p.Cache.Store.Snapshots(); len(keys) != 0 {
			b.Errorf("the cache holds %v", keys)
		}
	})
}

func TestGarbage(t *testing.T) {
	if testing.Short() {
		t.Skip("asks hostile remotes")
	}
	eachHTTP(t, func(b *bench, _ string) {
		for name, body := range map[string]string{"empty": "", "html": "<html>", "no flush": "001e# service=git-upload-pack\n",
			"huge line": "ffff" + strings.Repeat("x", 1000), "bad length": "zzzz", "nul": "\x00\x00\x00\x00"} {
			b.server.Fault(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
				w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
				w.Write([]byte(body))
			})
			l, err := b.source().Versions(b.Context(), b.id)
			if err == nil && len(l.Versions) == 0 && name == "empty" {
				continue // an empty list
			}
			if code := diag.CodeOf(err); code != diag.Network && code != diag.SourceNotFound {
				b.Errorf("%s: %v, %v (%s)", name, l, err, code)
			}
		}
	})
}

// A call to a remote that never answers ends when its context does.
func TestHangingServer(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a server that hangs")
	}
	eachHTTP(t, func(b *bench, _ string) {
		s := b.source()
		o := b.resolve(s, b.id, "v1.0.0")
		reached := make(chan struct{}, 1)
		b.server.Fault(sourcetest.Hang(reached))
		for name, call := range map[string]func(context.Context) error{
			"versions": func(ctx context.Context) error { _, err := b.source().Versions(ctx, b.id); return err },
			"fetch":    func(ctx context.Context) error { _, err := s.Fetch(ctx, o); return err },
		} {
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan error, 1)
			go func() { done <- call(ctx) }()
			<-reached
			cancel()
			select {
			case err := <-done:
				want(b, err, diag.Cancelled)
			case <-time.After(20 * time.Second):
				b.Fatalf("%s: it still waits", name)
			}
		}
		// And without anybody who gives up, its own time ends it.
		_, err := b.source(func(p *Params) { p.timeout = 100 * time.Millisecond }).Versions(b.Context(), b.id)
		want(b, err, diag.Network, "too long")
		var e *diag.Error
		if errors.As(err, &e); !e.Retryable {
			b.Error("it may not be tried again")
		}
	})
}

func TestStatusCodes(t *testing.T) {
	eachHTTP(t, func(b *bench, _ string) {
		for status, codes := range map[int][]diag.Code{
			401: {diag.AuthRequired}, 403: {diag.AuthRequired, diag.AuthFailed}, 404: {diag.SourceNotFound},
			500: {diag.Network}, 503: {diag.Network}, 302: {diag.SourceMoved, diag.Network},
		} {
			b.server.Fault(sourcetest.Status(status))
			_, err := b.source().Versions(b.Context(), b.id)
			if !slices.Contains(codes, diag.CodeOf(err)) {
				b.Errorf("status %d: %v (%s)", status, err, diag.CodeOf(err))
			}
		}
	})
}

// A private repository: the built-in client is tried first, then git with its own credentials, and
// neither prompts at a terminal.
func TestPrivateRepository(t *testing.T) {
	b := newBench(t, way{"auto", Auto, true})
	c1 := b.repo.Commit(sourcetest.Bundle("1")...)
	b.repo.Tag("v1.0.0", c1)
	auth := "Basic " + base64.StdEncoding.EncodeToString([]byte(aliceSecret))
	b.server.Fault(func(w http.ResponseWriter, r *http.Request, git http.Handler) {
		if r.Header.Get("Authorization") != auth {
			sourcetest.Status(http.StatusUnauthorized)(w, r, git)
			return
		}
		git.ServeHTTP(w, r)
	})
	_, err := b.source().Versions(t.Context(), b.id)
	want(t, err, diag.AuthRequired, b.url)
	_, err = b.source(func(p *Params) { p.Environ = nil }).Versions(t.Context(), b.id)
	want(t, err, diag.AuthRequired, "git command")
	s := b.source(withHelper(t))
	o := b.resolve(s, b.id, "v1.0.0")
	if o.Commit != c1 {
		t.Errorf("origin %+v", o)
	}
	b.fetch(s, o)
	if strings.Contains(o.URL, "secret") {
		t.Error("the origin holds the password")
	}
}

// Names of objects in SHA-256: the command reads them, and is chosen by itself.
func TestSHA256Repository(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many git processes")
	}
	for _, w := range []way{{"auto, http", Auto, true}, {"command, http", Command, true}, {"auto, folder", Auto, false}, {"command, folder", Command, false}} {
		t.Run(w.name, func(t *testing.T) {
			b := newBench(t, w, sourcetest.SHA256)
			c1 := b.repo.Commit(sourcetest.Bundle("1")...)
			b.repo.Tag("v1.0.0", c1)
			c2 := b.repo.Commit(sourcetest.Bundle("2")...)
			b.repo.Commit(sourcetest.Bundle("3")...)
			s := b.source()
			o := b.resolve(s, b.id, "v1.0.0")
			snap := b.fetch(s, o)
			if len(o.Commit) != 64 || o.Commit != c1 || len(snap.Origin.Tree) != 64 {
				t.Errorf("origin %+v", snap.Origin)
			}
			pseudo := b.resolve(s, b.id, c2)
			if !strings.HasSuffix(pseudo.Version, c2[:12]) {
				t.Errorf("pseudo-version %s", pseudo.Version)
			}
			b.fetch(s, pseudo)
			// The names differ, the bytes and so the sum do not.
			plain := newBench(t, w)
			plain.repo.Tag("v1.0.0", plain.repo.Commit(sourcetest.Bundle("1")...))
			ps := plain.source()
			if other := plain.fetch(ps, plain.resolve(ps, plain.id, "v1.0.0")); other.Sum != snap.Sum {
				t.Errorf("sums %s and %s", snap.Sum, other.Sum)
			}
			_, err := b.source(func(p *Params) { p.Transport = BuiltIn }).Versions(t.Context(), b.id)
			if err == nil || !errors.Is(err, errUnsupported) {
				t.Errorf("built-in alone: %v", err)
			}
			_, err = b.source(func(p *Params) { p.Transport, p.Environ = Auto, nil }).Versions(t.Context(), b.id)
			if err == nil || !strings.Contains(err.Error(), "git command") {
				t.Errorf("without git: %v", err)
			}
		})
	}
}

func TestTooLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("writes and sends large repositories")
	}
	eachHTTP(t, func(b *bench, _ string) {
		noise := make([]byte, 3<<20)
		x := uint32(1)
		for i := range noise {
			x = x*1664525 + 1013904223
			noise[i] = byte(x >> 24)
		}
		b.repo.Tag("v1.1.0", b.repo.Commit(sourcetest.File{Path: ".ai/knowledge/big", Data: string(noise)}))
		b.server.Fault(func(w http.ResponseWriter, r *http.Request, git http.Handler) {
			if r.Method != http.MethodPost {
				git.ServeHTTP(w, r)
				return
			}
			git.ServeHTTP(&slow{w, r.Context()}, r)
		})
		s := b.source(func(p *Params) { p.maxTransfer = 100_000 })
		_, err := s.Fetch(b.Context(), b.resolve(s, b.id, "v1.1.0"))
		want(b, err, diag.LimitExceeded, "100000", b.url)
		b.server.Fault(nil)
		s = b.source()
		b.fetch(s, b.resolve(s, b.id, "v1.1.0"))
	})
}

// slow sends slowly, so that watch sees the directory grow.
type slow struct {
	http.ResponseWriter
	ctx context.Context
}

func (s *slow) Write(p []byte) (int, error) {
	for at := 0; at < len(p); at += 16 << 10 {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-s.ctx.Done():
			return at, s.ctx.Err()
		}
		if _, err := s.ResponseWriter.Write(p[at:min(len(p), at+16<<10)]); err != nil {
			return at, err
		}
	}
	return len(p), nil
}

// The environment of a hook and the settings of git neither change a fetch nor run a
// program.
func TestSurroundings(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many git processes")
	}
	for _, w := range []way{{"command, http", Command, true}, {"command, folder", Command, false}} {
		t.Run(w.name, func(t *testing.T) {
			b := newBench(t, w)
			c1 := b.repo.Commit(sourcetest.Bundle("1")...)
			b.repo.Tag("v1.0.0", c1)
			dir := t.TempDir()
			trap := filepath.Join(dir, "trap")
			hooks := filepath.Join(dir, "hooks")
			os.Mkdir(hooks, 0o700)
			script := "#!/bin/sh\ntouch " + trap + "\nexit 1\n"
			for _, name := range []string{"reference-transaction", "post-checkout", "pre-fetch"} {
				os.WriteFile(filepath.Join(hooks, name), []byte(script), 0o700)
			}
			os.WriteFile(filepath.Join(dir, "cmd"), []byte(script), 0o700)
			config := filepath.Join(dir, "gitconfig")
			os.WriteFile(config, []byte("[core]\n\thooksPath = "+hooks+"\n\tfsmonitor = "+dir+"/cmd\n\tpager = "+dir+"/cmd\n[protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n[fetch]\n\trecurseSubmodules = true\n"), 0o600)
			s := b.source(func(p *Params) {
				p.Environ = append(slices.DeleteFunc(p.Environ, func(kv string) bool { return strings.HasPrefix(kv, "GIT_CONFIG_GLOBAL=") }),
					"GIT_CONFIG_GLOBAL="+config, "GIT_DIR="+b.repo.Dir, "GIT_WORK_TREE="+dir, "GIT_INDEX_FILE=index.lock",
					"GIT_CONFIG_PARAMETERS='core.hooksPath="+hooks+"'", "GIT_TRACE="+trap, "GIT_EXTERNAL_DIFF="+dir+"/cmd", "GIT_ALLOW_PROTOCOL=ext:http:file", "GIT_OBJECT_DIRECTORY=/nowhere")
			})
			b.fetch(s, b.resolve(s, b.id, "v1.0.0"))
			if _, err := os.Lstat(trap); err == nil {
				t.Error("something ran")
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	trap := filepath.Join(t.TempDir(), "trap")
	for _, u := range []string{"ext::sh -c touch% " + trap, "git://127.0.0.1/x", "--upload-pack=touch " + trap, "-x", "fd::3", "ftp://127.0.0.1/x", "https://-x/y", "http://127.0.0.1/a\nb", "-oProxyCommand=x:y", "x"} {
		for _, tr := range []string{Auto, BuiltIn, Command} {
			b := newBench(t, way{transport: tr})
			b.url = u
			_, err := b.source().Versions(t.Context(), b.id)
			if code := diag.CodeOf(err); code != diag.PolicyDenied && code != diag.Usage {
				t.Errorf("%q: %v (%s)", u, err, code)
			}
		}
	}
	if _, err := os.Lstat(trap); err == nil {
		t.Error("something ran")
	}
	if _, err := New(Params{Transport: "svn"}); diag.CodeOf(err) != diag.ConfigError {
		t.Errorf("RYE_GIT=svn: %v", err)
	}
}

// An ssh address needs the git command: the built-in client and a missing git return an error.
func TestSSHNeedsTheCommand(t *testing.T) {
	b := newBench(t, way{transport: BuiltIn})
	b.url = "ssh://git@127.0.0.1:1/x"
	_, err := b.source().Versions(t.Context(), b.id)
	want(t, err, diag.ConfigError, "RYE_GIT")
	_, err = b.source(func(p *Params) { p.Transport, p.Environ = Auto, nil }).Versions(t.Context(), b.id)
	want(t, err, diag.ExecutionFailed, "git command")
	dir := t.TempDir()
	fake := filepath.Join(dir, "ssh")
	os.WriteFile(fake, []byte("#!/bin/sh\necho \"$@\" >> "+dir+"/args\neval exec \"$(echo \"$*\" | sed 's/.*git-upload-pack/git-upload-pack/')\"\n"), 0o700)
	c1 := b.repo.Commit(sourcetest.Bundle("1")...)
	b.repo.Tag("v1.0.0", c1)
	b.url = "ssh://git@example.com" + b.repo.Dir
	s := b.source(func(p *Params) {
		p.Transport = Auto
		p.Environ = append(p.Environ, "GIT_SSH_COMMAND="+fake, "GIT_SSH_VARIANT=ssh")
	})
	if o := b.resolve(s, b.id, "v1.0.0"); o.Commit != c1 {
		t.Errorf("origin %+v", o)
	}
	b.fetch(s, b.resolve(s, b.id, "v1.0.0"))
	if args, err := os.ReadFile(filepath.Join(dir, "args")); err != nil || !strings.Contains(string(args), "git@example.com") {
		t.Errorf("ssh got %q, %v", args, err)
	}
}

func TestHomeOf(t *testing.T) {
	from, _ := url.Parse("http://a.example/x/info/refs?service=git-upload-pack")
	for location, home := range map[string]string{
		"https://b.example/y/info/refs?service=git-upload-pack": "https://b.example/y",
		"/z/info/refs": "http://a.example/z", "https://user:pass@b.example/y/git-upload-pack": "https://b.example/y",
		"": "", "http://[::1": "",
	} {
		res := &http.Response{Header: http.Header{"Location": {location}}}
		if got := homeOf(&http.Request{URL: from}, res); got != home {
			t.Errorf("%q: %q, want %q", location, got, home)
		}
	}
}
