package httpx

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
)

// hostPattern is one declared host.
type hostPattern struct {
	name string // lower case; "*." at the start matches every name below
	port string // "" matches any
}

func parseHosts(list []string) ([]hostPattern, []diag.Finding) {
	var out []hostPattern
	var fs []diag.Finding
	for _, s := range list {
		p, ok := parseHost(s)
		if !ok {
			f := diag.Errorf(diag.ConfigError, 0, 0, "host %q is no name of a host", s)
			f.Fix = "write api.example.com, api.example.com:8443 or *.example.com, without https://"
			fs = append(fs, f)
		}
		out = append(out, p)
	}
	return out, fs
}

func parseHost(s string) (hostPattern, bool) {
	name, port := s, ""
	if h, p, err := net.SplitHostPort(s); err == nil {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return hostPattern{}, false
		}
		name, port = h, p
	}
	rest, wildcard := strings.CutPrefix(name, "*.")
	name = strings.ToLower(strings.Trim(rest, "[]"))
	if wildcard {
		// "*.com" would be a whole top-level domain.
		return hostPattern{"*." + name, port}, validHost(name) && strings.Contains(name, ".")
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return hostPattern{name, port}, true
	}
	return hostPattern{name, port}, validHost(name)
}

func (h hostPattern) matches(host, port string) bool {
	return (h.port == "" || h.port == port) && glob.Text(h.name, host)
}

// validHost accepts names of letters, digits, "-", "_" and dots between them.
func validHost(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// target reads and judges the address of a request or redirect.
func (c *Client) target(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // without the URL itself
		}
		return nil, diag.New(diag.ValidationFailed, "reading the URL: %w", err)
	}
	if msg := badURL(u); msg != "" {
		return nil, diag.New(diag.ValidationFailed, "reading the URL: %s", msg).
			WithHint("a URL reads https://host/path; user and password do not stand in it")
	}
	host, port := strings.ToLower(u.Hostname()), portOf(u)
	if !c.declared(host, port) {
		return nil, diag.New(diag.PolicyDenied, "asking %s: the host is not among those that were declared", Shown(u.String())).
			WithHint("name it under hosts in the signed item, if it is meant").WithDetail("host", u.Host)
	}
	if a, known := c.addressOf(host); known {
		if err := c.guard.judge(host, a); err != nil {
			return nil, refusal("asking "+Shown(u.String()), err)
		}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// addressOf is the address that a host is without any lookup. A proxy would ask
// no guard, so behind one that name counts, too, which is the same everywhere.
func (c *Client) addressOf(host string) (netip.Addr, bool) {
	name := strings.TrimSuffix(host, ".")
	if c.guard.proxy != "" && (name == "localhost" || strings.HasSuffix(name, ".localhost")) {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	a, err := netip.ParseAddr(host)
	return a, err == nil
}

func badURL(u *url.URL) string {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "it begins neither with https:// nor with http://"
	case u.User != nil:
		return "it holds a user or password"
	case u.Hostname() == "" || u.Opaque != "":
		return "it names no host"
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return "its port lies outside 1 to 65535"
		}
	}
	return ""
}

func (c *Client) declared(host, port string) bool {
	if c.p.Hosts == nil {
		return true
	}
	for _, h := range c.hosts {
		if h.matches(strings.TrimSuffix(host, "."), port) {
			return true
		}
	}
	return false
}

// HostOf is the host of a URL as Params.Hosts names it, with the port if the URL
// has one.
func HostOf(u *url.URL) string {
	if u.Port() == "" {
		return u.Hostname()
	}
	return net.JoinHostPort(u.Hostname(), u.Port())
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "http" {
		return "80"
	}
	return "443"
}

func parseProxy(s string) (*url.URL, error) {
	if s == "" {
		return nil, nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errors.New("is no http:// or https:// address") // never shown: it may hold a password
	}
	return u, nil
}
