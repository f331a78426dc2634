package mcpserve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// checkOrigin refuses requests that a foreign web page makes a browser send:
// under a host name that is not the server's (DNS rebinding), or from an origin
// that is not allowed. It checks every method.
func (p HTTPParams) checkOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		switch {
		case !p.servesHost(r.Host):
			http.Error(w, "this server does not answer to the name "+quoted(r.Host)+"; see --allow-origin", http.StatusForbidden)
			return
		case len(r.Header.Values("Origin")) > 1,
			origin != "" && !p.allowed(origin) && !loopbackOrigin(origin):
			http.Error(w, "pages of the origin "+quoted(origin)+" may not call this server; see --allow-origin", http.StatusForbidden)
			return
		}
		if p.allowed(origin) && p.allowRead(w, r, origin) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// servesHost reports whether a Host header names this server. The owner of a
// foreign name can point it at any address; an address cannot be redirected.
func (p HTTPParams) servesHost(host string) bool {
	if p.allowed("http://"+host) || p.allowed("https://"+host) {
		return true
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if ip, err := netip.ParseAddr(name); err == nil {
		return p.Remote || ip.Unmap().IsLoopback()
	}
	return strings.EqualFold(name, "localhost")
}

func (p HTTPParams) allowed(origin string) bool {
	return slices.ContainsFunc(p.Origins, func(o string) bool {
		return strings.EqualFold(o, origin)
	})
}

// loopbackOrigin reports whether an origin is a page of this machine. Such a page
// may send requests but not read responses: without the headers of allowRead a
// browser withholds the response, and asks before it sends JSON.
func loopbackOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.Unmap().IsLoopback() || u.Hostname() == "localhost"
}

// allowRead sets the CORS headers for an allowed origin. It returns true if the
// request was a preflight, which it has answered.
func (p HTTPParams) allowRead(w http.ResponseWriter, r *http.Request, origin string) bool {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate")
	h.Add("Vary", "Origin")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// checkToken requires the bearer token. It compares in constant time.
func (p HTTPParams) checkToken(next http.Handler) http.Handler {
	if p.Token == "" {
		return next
	}
	want := sha256.Sum256([]byte(p.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(token)))
		if len(r.Header.Values("Authorization")) > 1 ||
			!strings.EqualFold(scheme, "Bearer") ||
			subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="rye"`)
			http.Error(w, "this server requires the token of its --token-file as a bearer token", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
