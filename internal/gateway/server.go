// Package gateway serves threads of projects to people and programs: an HTTP API with its description,
// events as a stream or over a WebSocket, and web pages.
//
// It has no state of threads: it reads logs and the registry, and acts by the functions of a terminal, so
// a thread that a terminal started is seen here and the other way round. It changes no trust, key,
// policy or consent.
package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gateway/access"
	"github.com/ryeos/rye/internal/gateway/host"
	"github.com/ryeos/rye/internal/gateway/page"
	"github.com/ryeos/rye/internal/gateway/trail"
	"github.com/ryeos/rye/internal/httpserve"
)

// Params configure a gateway.
type Params struct {
	Host    *host.Host
	Keys    *access.Store
	Trail   *trail.Log
	Guard   httpserve.Guard
	Proxies []netip.Prefix // whose X-Forwarded-For states the address of a client
	NoPage  bool
	Version string
	Now     func() time.Time
	Note    func(text string) // what the operator should know
}

// Server is a gateway.
type Server struct {
	p        Params
	api      huma.API
	routes   *http.ServeMux
	pages    *page.Pages
	sessions *sessions
	follow   *follower
	limits   *limiter
	roles    map[string]access.Role // by method and path of a route of the API
	streams  streams
}

// Limits of requests.
const (
	maxBody     = 1 << 20
	bodyStall   = 30 * time.Second
	maxStreams  = 256
	keyStreams  = 32
	headerBytes = 16 << 10
)

// Limits returns the limits of the connections of a gateway.
func Limits() httpserve.Limits {
	return httpserve.Limits{
		Header: 5 * time.Second,
		Idle:   2 * time.Minute,
		Bytes:  headerBytes,
		Close:  5 * time.Second,
	}
}

// contentPolicy permits a page its own files and requests, and script to change it through the one
// policy of the script.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types rye"

// New returns a gateway. Close ends what it started.
func New(p Params) (*Server, error) {
	pages, err := page.New(p.Now)
	if err != nil {
		return nil, err
	}
	s := &Server{
		p:        p,
		routes:   http.NewServeMux(),
		pages:    pages,
		sessions: newSessions(p.Now),
		follow:   newFollower(),
		limits:   newLimiter(p.Now),
		roles:    map[string]access.Role{},
		streams:  streams{open: map[string]int{}},
	}
	s.serveAPI()
	if !p.NoPage {
		s.servePages()
	}
	return s, nil
}

// Close ends the watch of files.
func (s *Server) Close() {
	s.follow.close()
}

// Handler returns the whole gateway.
func (s *Server) Handler() http.Handler {
	h := http.Handler(http.HandlerFunc(s.serve))
	h = httpserve.Bounded(maxBody, bodyStall, h)
	// Before the route is selected: a foreign name reaches nothing.
	h = s.p.Guard.Handler(h)
	h = httpserve.Secure(contentPolicy, h)
	return httpserve.Named(h)
}

// serve refuses what no route may see, and counts requests.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if access.LooksLikeKey(r.URL.RawQuery) || access.LooksLikeKey(r.URL.Path) {
		// It is in the history of a browser or the log of a proxy by now.
		err := s.p.Keys.RevokeText(
			r.Context(),
			r.URL.Path+"?"+r.URL.RawQuery,
		)
		if err != nil {
			s.note("revoking a key that was in a URL: " + err.Error())
		}
		fail(w, http.StatusBadRequest, diag.New(diag.Usage, "reading the request: a key must not be in a URL; it was revoked"))
		return
	}
	wait := s.limits.address(s.address(r), hasCredentials(r))
	if wait > 0 {
		tooMany(w, wait)
		return
	}
	s.routes.ServeHTTP(w, r)
}

// address returns the address of the client.
func (s *Server) address(r *http.Request) string {
	addr, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return "unix"
	}
	ip := addr.Addr().Unmap()
	for _, p := range s.p.Proxies {
		if !p.Contains(ip) {
			continue
		}
		// The last address is the one that the proxy saw; those before it are the client's word.
		list := strings.Split(r.Header.Get("X-Forwarded-For"), ",")
		seen, err := netip.ParseAddr(strings.TrimSpace(list[len(list)-1]))
		if err == nil {
			return seen.String()
		}
	}
	return ip.String()
}

func (s *Server) note(text string) {
	// A test may not read them.
	if s.p.Note != nil {
		s.p.Note(text)
	}
}

// isLocal reports whether a request is from this computer.
func isLocal(address string) bool {
	if address == "unix" {
		return true
	}
	ip := net.ParseIP(address)
	return ip != nil && ip.IsLoopback()
}

// streams counts the open streams of keys.
type streams struct {
	mu   sync.Mutex
	open map[string]int // by the id of the key
}

// add counts an open stream of a key. ok is false if there are too many.
func (s *streams) add(key *access.Key) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := 0
	for _, n := range s.open {
		all += n
	}
	if all >= maxStreams || s.open[key.ID] >= keyStreams {
		return nil, false
	}
	s.open[key.ID]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open[key.ID]--
	}, true
}
