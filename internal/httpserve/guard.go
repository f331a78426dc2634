package httpserve

import (
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Guard refuses requests that a foreign web page makes a browser send: under a name that is not the
// server's (DNS rebinding), or from a page of another origin.
type Guard struct {
	Addr   string // HOST:PORT where the server listens
	Public string // the URL by which people reach it, "" for none
	TLS    bool
	Unix   bool // any name is accepted: a browser cannot reach the socket
}

// names returns the values of Host that name the server.
func (g Guard) names() map[string]bool {
	out := map[string]bool{}
	if u, err := url.Parse(g.Public); err == nil && u.Host != "" {
		out[strings.ToLower(u.Host)] = true
	}
	// A name without the port is the name of another server.
	host, port, err := net.SplitHostPort(g.Addr)
	if err != nil {
		return out
	}
	out[net.JoinHostPort(host, port)] = true
	if IsLoopback(g.Addr) {
		for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
			out[net.JoinHostPort(name, port)] = true
		}
	}
	return out
}

// Handler returns next behind the checks. It answers 421 to a foreign name, before any route is
// selected, and 403 to a foreign origin.
func (g Guard) Handler(next http.Handler) http.Handler {
	names := g.names()
	scheme := "http"
	if g.TLS {
		scheme = "https"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := strings.ToLower(r.Host)
		if !g.Unix && !names[host] {
			http.Error(w, "this server does not answer to this name", http.StatusMisdirectedRequest)
			return
		}
		// Behind a proxy that adds TLS, the scheme of the origin is the one of the public URL.
		origin := r.Header.Get("Origin")
		same := origin == scheme+"://"+host ||
			g.Public != "" && origin == strings.TrimSuffix(g.Public, "/")
		site := r.Header.Get("Sec-Fetch-Site")
		origins := r.Header.Values("Origin")
		switch {
		case len(origins) > 1,
			len(origins) == 1 && !same,
			unsafe(r.Method) && (site == "cross-site" || site == "same-site"):
			http.Error(w, "pages of other origins may not call this server", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// unsafe reports whether a method may change something.
func unsafe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return true
}

// RequestID is the header that names a request in the answer and in logs.
const RequestID = "X-Request-Id"

// Named returns next with a random name for each request.
func Named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(RequestID, strings.ToLower(rand.Text()[:16]))
		next.ServeHTTP(w, r)
	})
}

// Secure returns next with the headers that keep pages of others from reading or showing an answer.
// policy is the Content-Security-Policy.
func Secure(policy string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		// With no-referrer, the forms of the pages would be sent with the origin null.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// Bounded returns next with a limit of the size of bodies, and of the time that one may make no progress.
func Bounded(size int64, stall time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			moving := &movingBody{
				ReadCloser: http.MaxBytesReader(w, r.Body, size),
				control:    http.NewResponseController(w),
				stall:      stall,
			}
			// The server inspects the body of its own request to decide whether the connection can be
			// used again: with another body there, the rest of a body that was too large would be
			// read as the next request.
			r = r.WithContext(r.Context())
			r.Body = moving
			// A stream that follows the body has no end of reading.
			defer func() {
				_ = moving.control.SetReadDeadline(time.Time{})
			}()
		}
		next.ServeHTTP(w, r)
	})
}

// movingBody is a body whose every read must make progress in time.
type movingBody struct {
	io.ReadCloser

	control *http.ResponseController
	stall   time.Duration
}

// Read implements io.Reader.
func (b *movingBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(b.stall)) // a recorder of a test has none
	return b.ReadCloser.Read(p)
}
