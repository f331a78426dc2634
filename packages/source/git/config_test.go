package git

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/sourcetest"
	"github.com/ryeos/rye/packages/source"
)

// configured is a Params change: git's configuration of the user is this text.
func configured(t *testing.T, transport, text string) func(*Params) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "gitconfig")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(p *Params) {
		p.Transport = transport
		p.Environ = append(p.Environ, "GIT_CONFIG_GLOBAL="+file)
	}
}

// released is a bench over http with one release.
func released(t *testing.T) *bench {
	b := newBench(t, way{"configured", Auto, true})
	b.repo.Tag("v1.0.0", b.repo.Commit(sourcetest.Bundle("1")...))
	return b
}

// first use M10: an address that insteadOf maps is never requested from its own host.
func TestInsteadOf(t *testing.T) {
	b := released(t)
	original := sourcetest.Serve(t, t.TempDir())
	mirror := b.server.URL
	b.url = original.URL + "/acme/core.git"
	text := "[url \"" + mirror + "/\"]\n\tinsteadOf = " + original.URL + "/\n"
	for _, transport := range []string{Auto, Command} {
		if l, err := b.source(configured(t, transport, text)).Versions(t.Context(), b.id); err != nil || len(l.Versions) != 1 {
			t.Errorf("%s: %v, %v", transport, l, err)
		}
	}
	if n := b.server.Asked(); n == 0 {
		t.Error("the mirror got no request")
	}
	_, err := b.source(configured(t, BuiltIn, text)).Versions(t.Context(), b.id)
	want(t, err, diag.ConfigError, "url."+mirror+"/.insteadof")
	// A mirror that redirects is not a reason to ask the original host either.
	b.server.Fault(sourcetest.Redirect(original.URL + "/"))
	_, err = b.source(configured(t, Auto, text)).Versions(t.Context(), b.id)
	want(t, err, diag.SourceMoved, "redirects")
	if got := original.Requests(); len(got) > 0 {
		t.Errorf("the original host got %v", got)
	}
}

// The includes of the user that apply to the project's directory apply to its
// bundles. The configuration of the project's repository does not.
func TestInsteadOfOfAProject(t *testing.T) {
	b := released(t)
	original := sourcetest.Serve(t, t.TempDir())
	mirror := b.server.URL
	b.url = original.URL + "/acme/core.git"
	project := sourcetest.NewRepo(t, filepath.Join(t.TempDir(), "work", "app"))
	project.Git("", "config", "url."+original.URL+"/nowhere/.insteadOf", original.URL+"/")
	included := filepath.Join(t.TempDir(), "work.config")
	if err := os.WriteFile(included, []byte("[url \""+mirror+"/\"]\n\tinsteadOf = "+original.URL+"/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "[includeIf \"gitdir:" + filepath.ToSlash(project.Dir) + "\"]\n\tpath = " + filepath.ToSlash(included) + "\n"
	inProject := func(p *Params) { p.Dir = project.Dir }
	s := b.source(configured(t, Auto, text), inProject)
	b.fetch(s, b.resolve(s, b.id, "v1.0.0"))
	if got := original.Requests(); len(got) > 0 {
		t.Errorf("the original host got %v", got)
	}
	_, err := b.source(configured(t, Auto, text)).Versions(t.Context(), b.id)
	want(t, err, diag.SourceNotFound, original.URL)
}

func TestProxyAndCertificates(t *testing.T) {
	if testing.Short() {
		t.Skip("starts proxies and TLS servers")
	}
	b := released(t)
	target, err := url.Parse(b.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(target))
	defer secure.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, url, setting string }{
		{"proxy", "http://git.invalid/acme/core.git", "[http]\n\tproxy = " + b.server.URL + "\n"},
		{"proxy of the host", "http://git.invalid/acme/core.git", "[http \"http://*.invalid\"]\n\tproxy = " + b.server.URL + "\n"},
		{"certificates", secure.URL + "/acme/core.git", "[http]\n\tsslCAInfo = " + filepath.ToSlash(ca) + "\n"},
	} {
		b.url = tc.url
		for _, transport := range []string{Auto, Command} {
			if l, err := b.source(configured(t, transport, tc.setting)).Versions(t.Context(), b.id); err != nil || len(l.Versions) != 1 {
				t.Errorf("%s, %q: %v, %v", tc.name, transport, l, err)
			}
		}
		_, err := b.source(configured(t, BuiltIn, tc.setting)).Versions(t.Context(), b.id)
		want(t, err, diag.ConfigError, "which the built-in client does not apply")
	}
	b.url = b.server.URL + "/acme/core.git"
	b.server.Requests()
	s := b.source(configured(t, Auto, "[http \""+b.server.URL+"\"]\n\textraHeader = \"Authorization: Basic "+"eA==\"\n"))
	if _, err := s.Versions(t.Context(), b.id); err != nil {
		t.Error(err)
	}
	for _, r := range b.server.Requests() {
		if r.Authorization != "Basic eA==" {
			t.Errorf("a request without the configured header: %+v", r)
		}
	}
}

// first use M10: a server that asks for a password gets that of git's credential helper.
func TestCredentialHelper(t *testing.T) {
	b := released(t)
	target, err := url.Parse(b.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ada" || password != "s3cret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer private.Close()
	b.url = private.URL + "/acme/core.git"
	helper := func(password string) string {
		return "[credential]\n\thelper = \"!f() { echo username=ada; echo password=" + password + "; }; f\"\n"
	}
	for _, transport := range []string{Auto, Command} {
		if l, err := b.source(configured(t, transport, helper("s3cret"))).Versions(t.Context(), b.id); err != nil || len(l.Versions) != 1 {
			t.Errorf("%q: %v, %v", transport, l, err)
		}
		if _, err := b.source(configured(t, transport, helper("wrong"))).Versions(t.Context(), b.id); diag.CodeOf(err) != diag.AuthRequired && diag.CodeOf(err) != diag.AuthFailed {
			t.Errorf("%q with a wrong password: %v", transport, err)
		}
	}
	_, err = b.source(configured(t, BuiltIn, helper("s3cret"))).Versions(t.Context(), b.id)
	want(t, err, diag.AuthRequired, private.URL)
}

// A host that ssh cannot resolve: one attempt, with the message of ssh.
func TestSSHHostWithoutAddress(t *testing.T) {
	b := newBench(t, way{transport: Auto})
	b.url = "ssh://git@git.invalid/acme/core.git"
	dir := t.TempDir()
	fake := filepath.Join(dir, "ssh")
	script := "#!/bin/sh\necho x >> " + dir + "/calls\necho 'ssh: Could not resolve hostname git.invalid: Name or service not known' >&2\nexit 255\n"
	if err := os.WriteFile(fake, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s := source.Retry(b.source(func(p *Params) { p.Environ = append(p.Environ, "GIT_SSH_COMMAND="+fake, "GIT_SSH_VARIANT=ssh") }))
	_, err := s.Versions(t.Context(), b.id)
	want(t, err, diag.Network, "asking ssh://git@git.invalid/acme/core.git: ssh: Could not resolve hostname git.invalid: Name or service not known")
	if calls, _ := os.ReadFile(filepath.Join(dir, "calls")); string(calls) != "x\n" {
		t.Errorf("ssh ran %d times", strings.Count(string(calls), "x"))
	}
}

func TestRetriesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("waits between attempts")
	}
	b := released(t)
	b.server.Fault(sourcetest.Status(503))
	for _, transport := range []string{BuiltIn, Command} {
		b.server.Requests()
		s := source.Retry(b.source(func(p *Params) { p.Transport = transport }))
		_, err := s.Versions(t.Context(), b.id)
		want(t, err, diag.Network, "503")
		if n := b.server.Asked(); n != 3 {
			t.Errorf("%s: %d attempts", transport, n)
		}
	}
}

func TestConfigAbout(t *testing.T) {
	c := &config{settings: []setting{
		{"url.https://mirror.example/.insteadof", "https://github.com/"}, {"url.https://x/.pushinsteadof", "https://push.example/"},
		{"http.postbuffer", "1"}, {"http.https://*.acme.io.sslcainfo", "/ca"}, {"credential.https://git.lab.dev.helper", "store"},
		{"core.sshcommand", "ssh -i key"},
	}}
	for address, want := range map[string]string{
		"https://github.com/acme/x":      "url.https://mirror.example/.insteadof",
		"https://github.example/acme/x":  "",
		"https://push.example/x":         "",
		"https://git.acme.io/x":          "http.https://*.acme.io.sslcainfo",
		"https://GIT.acme.io:8443/x":     "http.https://*.acme.io.sslcainfo",
		"https://acme.io/x":              "",
		"https://a.git.acme.io/x":        "",
		"https://git.lab.dev/x":          "credential.https://git.lab.dev.helper",
		"ssh://git@git.acme.io/x":        "core.sshcommand",
		"git@git.acme.io:x":              "core.sshcommand",
		"file:///srv/git/x":              "",
		"https://evil.git.lab.dev.cc/x":  "",
		"http://user@git.lab.dev/acme/x": "credential.https://git.lab.dev.helper",
	} {
		if got := c.about(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
