package serverconfig

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

const whole = `gateway:
  addr: 10.0.0.5:7340
  public_url: https://rye.acme.io
  tls:
    cert: tls/cert.pem
    key: /etc/tls/key.pem
  trusted_proxy:
    - 10.0.0.0/8
  projects:
    - work
  page: false
`

func write(t *testing.T, text string, mode os.FileMode) string {
	path := filepath.Join(t.TempDir(), File)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRead reads a whole file, and none.
func TestRead(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key.pem") // absolute on each system
	path := write(t, strings.ReplaceAll(whole, "/etc/tls/key.pem", key), 0o600)
	c, err := Read(Search{Dirs: []string{"", t.TempDir(), filepath.Dir(path)}})
	if err != nil {
		t.Fatal(err)
	}
	g := c.Gateway
	if c.Path != path || g.Addr != "10.0.0.5:7340" || g.Cert != filepath.Join(filepath.Dir(path), "tls/cert.pem") || g.Key != key ||
		g.TrustedProxy[0].String() != "10.0.0.0/8" || g.Projects[0] != filepath.Join(filepath.Dir(path), "work") || !g.NoPage || g.Check() != nil {
		t.Errorf("%+v", g)
	}
	if c, err = Read(Search{Dirs: []string{t.TempDir()}}); err != nil || !reflect.DeepEqual(c, Default()) {
		t.Error(c, err)
	}
}

// TestFaults reads files with one fault each.
func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"gateway:\n  adr: x\n":                                       "gateway.adr",
		"gateway:\n  addr: localhost\n":                              "want HOST:PORT",
		"gateway:\n  public_url: https://a:secret@b\n":               "must not have a password",
		"gateway:\n  public_url: ftp://b\n":                          "want https://HOST",
		"gateway:\n  tls:\n    cert: a\n":                            "key",
		"gateway:\n  trusted_proxy:\n    - 10.0.0.1\n":               "10.0.0.0/8",
		"daemon:\n  hooks_addr: x\n":                                 `"daemon"`,
		"gateway:\n  addr: \"127.0.0.1:1\"\n  addr: \"0.0.0.0:1\"\n": "addr",
	} {
		_, err := Read(Search{Named: write(t, text, 0o600)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		f := diag.Typed(err).Findings
		if len(f) == 0 || f[0].Line == 0 {
			t.Errorf("%q: the error has no line: %+v", text, f)
		}
	}
	if _, err := Read(Search{Named: write(t, whole, 0o666)}); runtime.GOOS != "windows" && diag.CodeOf(err) != diag.ConfigError {
		t.Error("a file that others can write:", err)
	}
	if _, err := Read(Search{Named: filepath.Join(t.TempDir(), "none.yaml")}); diag.CodeOf(err) != diag.ConfigError {
		t.Error("a named file that does not exist:", err)
	}
}

// TestCheck refuses addresses that others reach without TLS.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		change func(*Gateway)
		ok     bool
	}{
		{func(*Gateway) {}, true},
		{func(g *Gateway) { g.Addr = "0.0.0.0:7340" }, false},
		{func(g *Gateway) { g.Addr = ":7340" }, false},
		{func(g *Gateway) { g.Addr = "0.0.0.0:7340"; g.Unix = "/run/rye" }, true},
		{func(g *Gateway) { g.Addr = "0.0.0.0:7340"; g.Cert = "a"; g.Key = "b" }, true},
		{func(g *Gateway) { g.Cert = "a" }, false},
		{func(g *Gateway) { g.Addr = "x" }, false},
	} {
		g := Default().Gateway
		c.change(&g)
		if err := g.Check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", g, err)
		}
	}
}
