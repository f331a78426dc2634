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

// guarded refuses the requests that a web page of somebody else makes a browser
// send: under a name that is not the server's (DNS rebinding), or from an
// origin that nobody allowed. It looks at every request, whatever its method.
func (p HTTPParams) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		switch {
		case !p.answersTo(r.Host):
			http.Error(w, "this server does not answer to the name "+quoted(r.Host)+"; see --allow-origin", http.StatusForbidden)
			return
		case len(r.Header.Values("Origin")) > 1, origin != "" && !p.listed(origin) && !loopbackOrigin(origin):
			http.Error(w, "pages of the origin "+quoted(origin)+" may not call this server; see --allow-origin", http.StatusForbidden)
			return
		}
		if p.listed(origin) && p.letRead(w, r, origin) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// answersTo tells whether a Host is one of the server's. A name that belongs
// to somebody else can be pointed at any address, an address cannot.
func (p HTTPParams) answersTo(host string) bool {
	if p.listed("http://"+host) || p.listed("https://"+host) {
		return true
	}
	name := bare(host)
	if ip, err := netip.ParseAddr(name); err == nil {
		return p.Beyond || ip.Unmap().IsLoopback()
	}
	return strings.EqualFold(name, "localhost")
}

// bare is a host without its port and brackets.
func bare(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

func (p HTTPParams) listed(origin string) bool {
	return slices.ContainsFunc(p.Origins, func(o string) bool { return strings.EqualFold(o, origin) })
}

// loopbackOrigin tells whether an origin is a page of this machine. Such a page
// may call, but not read: without the headers of letRead a browser keeps the
// answer from it, and asks before it sends JSON.
func loopbackOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.Unmap().IsLoopback() || u.Hostname() == "localhost"
}

// letRead tells a browser that a page may read the answers. It reports whether
// the request was the browser's own question about that.
func (p HTTPParams) letRead(w http.ResponseWriter, r *http.Request, origin string) bool {
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

// authorized demands the token. The comparison takes as long for every token.
func (p HTTPParams) authorized(next http.Handler) http.Handler {
	if p.Token == "" {
		return next
	}
	want := sha256.Sum256([]byte(p.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(token)))
		if len(r.Header.Values("Authorization")) > 1 || !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="rye"`)
			http.Error(w, "this server wants the token of its --token-file as a bearer token", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
