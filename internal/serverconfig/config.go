// Package serverconfig reads server.yaml, the configuration of rye-server: where it listens, for which
// projects, and how it logs.
//
// The file is of a user or of a machine, never of a project, because it opens ports. Flags of a command
// have precedence over it; the command applies them.
package serverconfig

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpserve"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/owner"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
)

// File is the name of the file in the user's configuration directory and in the directory of the machine.
const File = "server.yaml"

// DefaultAddr is where the gateway listens if nothing else is configured.
const DefaultAddr = "127.0.0.1:7340"

// maxFile is the size of the largest file, in bytes.
const maxFile = 1 << 20

// Config is the whole configuration.
type Config struct {
	Path    string  `json:"path,omitempty"` // of the file, "" without one
	Gateway Gateway `json:"gateway"`
}

// Gateway configures rye gateway.
type Gateway struct {
	Addr         string         `json:"addr"`
	Unix         string         `json:"unix,omitempty"`
	PublicURL    string         `json:"public_url,omitempty"`
	Cert         string         `json:"tls_cert,omitempty"`
	Key          string         `json:"tls_key,omitempty"`
	TrustedProxy []netip.Prefix `json:"trusted_proxy"`
	Projects     []string       `json:"projects"` // absolute directories; without one, the project of the working directory
	NoPage       bool           `json:"no_page"`
}

// Search is where a file is looked for.
type Search struct {
	Named string   // by --config; no other file is read
	Dirs  []string // the directory of the user, then the one of the machine
	Sudo  string   // SUDO_UID
}

// Read reads the first file that exists. A file that another user can change is refused.
func Read(s Search) (*Config, error) {
	path := s.Named
	for _, dir := range s.Dirs {
		file := filepath.Join(dir, File)
		if path != "" || dir == "" {
			continue
		}
		if _, err := os.Lstat(file); err == nil {
			path = file
		}
	}
	if path == "" {
		// Every value has a default.
		return Default(), nil
	}
	if err := owner.Private(path, s.Sudo); err != nil {
		return nil, diag.New(diag.ConfigError, "reading the configuration: %w", err).
			WithReason("server_owner").
			WithDetail("path", path)
	}
	b, _, err := openat.Read(filepath.Dir(path), filepath.Base(path), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.ConfigError, "reading the configuration: %s does not exist", path)
	}
	if err != nil {
		return nil, diag.Doing("reading the configuration", err)
	}
	return parse(path, b)
}

// Default returns the configuration without a file.
func Default() *Config {
	return &Config{Gateway: Gateway{
		Addr:         DefaultAddr,
		TrustedProxy: []netip.Prefix{},
		Projects:     []string{},
	}}
}

// parse reads the text of a file.
func parse(path string, b []byte) (*Config, error) {
	c := Default()
	c.Path = path
	doc, found := yamlx.Parse(b)
	if !diag.Failed(found) {
		r := tree.NewReader(doc, diag.ConfigError)
		r.Only("gateway")
		if r.Has("gateway") {
			c.Gateway.read(r.Map("gateway"), filepath.Dir(path))
		}
		found = append(found, r.Findings()...)
	}
	for i := range found {
		found[i].Path = path
	}
	if err := diag.FromFindings("reading the configuration", found); err != nil {
		return nil, err
	}
	return c, nil
}

// read reads the part of the gateway. Relative paths are below dir.
func (g *Gateway) read(r *tree.Reader, dir string) {
	r.Only("addr", "unix", "public_url", "tls", "trusted_proxy", "projects", "page")
	if r.Has("addr") {
		g.Addr = r.TextFunc("addr", checkAddr)
	}
	if r.Has("unix") {
		g.Unix = below(dir, r.Text("unix"))
	}
	if r.Has("public_url") {
		g.PublicURL = r.TextFunc("public_url", checkURL)
	}
	if r.Has("tls") {
		tls := r.Map("tls")
		tls.Only("cert", "key")
		tls.Require("cert", "key")
		g.Cert = below(dir, tls.Text("cert"))
		g.Key = below(dir, tls.Text("key"))
	}
	for _, text := range r.Texts("trusted_proxy", checkPrefix) {
		p, _ := netip.ParsePrefix(text) // it was checked
		g.TrustedProxy = append(g.TrustedProxy, p)
	}
	for _, text := range r.Texts("projects", nil) {
		g.Projects = append(g.Projects, below(dir, text))
	}
	g.NoPage = !r.Bool("page", true)
}

// below returns a path of the file as an absolute one.
func below(dir, path string) string {
	// "" means that nothing is configured.
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func checkAddr(text string) error {
	if _, _, err := net.SplitHostPort(text); err != nil {
		return errors.New("want HOST:PORT")
	}
	return nil
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	// The origin of a browser has no path, and a secret here would be in logs.
	switch {
	case err != nil,
		u.Host == "",
		u.Scheme != "https" && u.Scheme != "http":
		return errors.New("want https://HOST")
	case u.User != nil:
		return errors.New("a URL must not have a password")
	case strings.Trim(u.Path, "/") != "",
		u.RawQuery != "",
		u.Fragment != "":
		return errors.New("want https://HOST without a path")
	}
	return nil
}

func checkPrefix(text string) error {
	if _, err := netip.ParsePrefix(text); err != nil {
		return errors.New("want addresses such as 10.0.0.0/8")
	}
	return nil
}

// Check returns an error if the values do not fit together: an address that others reach needs TLS, its
// own or the one of a proxy.
func (g *Gateway) Check() error {
	if err := checkAddr(g.Addr); err != nil {
		return diag.New(diag.Usage, "reading the address of the gateway: %q: %w", g.Addr, err)
	}
	if g.PublicURL != "" {
		if err := checkURL(g.PublicURL); err != nil {
			return diag.New(diag.Usage, "reading the public URL of the gateway: %w", err)
		}
	}
	// A proxy that adds TLS is named twice, so that no http is served to others by mistake.
	proxied := len(g.TrustedProxy) > 0 && strings.HasPrefix(g.PublicURL, "https://")
	switch {
	case (g.Cert == "") != (g.Key == ""):
		return diag.New(diag.Usage, "reading the address of the gateway: --tls-cert and --tls-key are needed together")
	case g.Unix == "" &&
		!httpserve.IsLoopback(g.Addr) &&
		g.Cert == "" &&
		!proxied:
		return diag.New(diag.Usage, "listening on %s: others reach this address, so it needs --tls-cert and --tls-key, or --trusted-proxy with --public-url https://HOST", g.Addr)
	}
	return nil
}
