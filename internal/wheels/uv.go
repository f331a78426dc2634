// Package wheels provides the packages of Python tools: uv resolves requirements to one
// wheel each, rye downloads the wheels, verifies them by their digest and unpacks them.
//
// Nothing of a wheel runs: no installer, no script and no .pth file. The package does
// not decide which wheels are used; the lock does.
package wheels

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/tomlx"
	"github.com/ryeos/rye/internal/tree"
)

// Wheel is one wheel that uv selected.
type Wheel struct {
	Name    string
	Version string
	SHA256  string // hex
	URL     string
}

// Uv runs uv.
type Uv struct {
	Path    string
	Environ []string // of the user; only a part is passed
	Python  string   // the interpreter that the wheels are for
}

// passed are the variables of the user that uv receives in addition to the usual ones: the
// index, proxies and certificates.
func passed() []string {
	return []string{
		"UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_CACHE_DIR", "SSL_CERT_FILE",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	}
}

// maxLock is the largest resolution in bytes.
const maxLock = 8 << 20

// Resolve returns the wheels that satisfy the requirements on this machine, with those
// that they require, sorted by name. Exact leaves out what a requirement requires.
func (u Uv) Resolve(ctx context.Context, requirements []string, exact bool) ([]Wheel, error) {
	argv := []string{
		u.Path, "pip", "compile", "--quiet", "--no-progress", "--no-python-downloads", "--only-binary", ":all:", "--no-sources",
		"--no-header", "--no-annotate", "--format", "pylock.toml", "--python", u.Python,
	}
	if exact {
		argv = append(argv, "--no-deps")
	}
	argv = append(append(argv, u.config()...), "-")
	res, err := proc.Run(ctx, proc.Cmd{
		Path:      u.Path,
		Argv:      argv,
		Dir:       filepath.Dir(u.Path),
		Env:       u.env(),
		Timeout:   5 * time.Minute,
		MaxStdout: maxLock,
		MaxStderr: 64 << 10,
		Stdin:     strings.NewReader(strings.Join(requirements, "\n") + "\n"),
	})
	if err != nil {
		return nil, err
	}
	if res.ExitCode != 0 {
		return nil, diag.New(
			diag.Unresolvable,
			"resolving %s with uv: %s",
			strings.Join(requirements, ", "),
			cmp.Or(strings.TrimSpace(string(res.Stderr)), "exit status not 0"),
		)
	}
	return read(res.Stdout)
}

// config returns the flags for the user's own configuration of uv. The configuration of the
// project and its parents is never read.
func (u Uv) config() []string {
	dir, _ := proc.Lookup(u.Environ, "XDG_CONFIG_HOME")
	home, ok := proc.Lookup(u.Environ, "HOME")
	if ok && !filepath.IsAbs(dir) {
		dir = filepath.Join(home, ".config")
	}
	file := filepath.Join(dir, "uv", "uv.toml")
	fi, err := os.Stat(file)
	if filepath.IsAbs(dir) && err == nil && fi.Mode().IsRegular() {
		return []string{"--config-file", file}
	}
	return []string{"--no-config"}
}

func (u Uv) env() []string {
	env := proc.Base(u.Environ)
	for _, name := range passed() {
		if v, ok := proc.Lookup(u.Environ, name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// read returns the wheels of a pylock.toml (PEP 751). A package without exactly one wheel
// is an error: uv was asked for wheels of one platform.
func read(text []byte) ([]Wheel, error) {
	const doing = "reading the resolution of uv"
	doc, fs := tomlx.Parse(text)
	if err := diag.FromFindings(doing, fs); err != nil {
		return nil, err
	}
	r := tree.NewReader(doc, diag.Unresolvable)
	var out []Wheel
	for _, p := range r.Maps("packages") {
		w := Wheel{Name: p.Text("name"), Version: p.Text("version")}
		list := p.Maps("wheels")
		if len(list) != 1 {
			return nil, diag.New(diag.Unresolvable, "%s: %s %s has no wheel for this machine; source distributions are not used", doing, w.Name, w.Version)
		}
		w.URL, w.SHA256 = list[0].Text("url"), list[0].Map("hashes").Text("sha256")
		if w.Name == "" ||
			w.Version == "" ||
			w.URL == "" ||
			len(w.SHA256) != 64 {
			return nil, diag.New(diag.Unresolvable, "%s: the index gives %s %s no SHA-256", doing, w.Name, w.Version)
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b Wheel) int {
		return cmp.Compare(a.Name, b.Name)
	})
	return out, diag.FromFindings(doing, r.Findings())
}
