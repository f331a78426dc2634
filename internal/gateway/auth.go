package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gateway/access"
	"github.com/ryeos/rye/internal/gateway/host"
	"github.com/ryeos/rye/internal/gateway/trail"
	"github.com/ryeos/rye/internal/httpserve"
)

// Lives of sessions.
const (
	sessionLife = 12 * time.Hour
	sessionIdle = time.Hour
	maxSessions = 10_000
)

// sessions are the browsers that are signed in.
type sessions struct {
	now func() time.Time

	mu   sync.Mutex
	list map[string]*session // by the digest of the token
}

// session is a browser that is signed in.
type session struct {
	key   string // the id of the key, or the one of access.Local
	token string // of forms: a page of another origin cannot read it
	began time.Time
	used  time.Time
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{
		now:  now,
		list: map[string]*session{},
	}
}

func tokenDigest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// begin makes a session and returns its token.
func (s *sessions) begin(key string) string {
	token := rand.Text() + rand.Text()
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, old := range s.list {
		// Without a limit, sign-ins would fill the memory.
		if old.over(now) || len(s.list) > maxSessions {
			delete(s.list, name)
		}
	}
	s.list[tokenDigest(token)] = &session{
		key:   key,
		token: rand.Text(),
		began: now,
		used:  now,
	}
	return token
}

func (s *session) over(now time.Time) bool {
	return now.Sub(s.began) > sessionLife || now.Sub(s.used) > sessionIdle
}

// find returns the session of a token.
func (s *sessions) find(token string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.list[tokenDigest(token)]
	if found == nil || found.over(s.now()) {
		return nil
	}
	found.used = s.now()
	// The caller reads it without the lock.
	copied := *found
	return &copied
}

func (s *sessions) end(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.list, tokenDigest(token))
}

// cookieName returns the name of the cookie. Browsers accept __Host- only with TLS.
func (s *Server) cookieName() string {
	if s.secure() {
		return "__Host-rye"
	}
	return "rye_session"
}

func (s *Server) secure() bool {
	return s.p.Guard.TLS || strings.HasPrefix(s.p.Guard.Public, "https://")
}

// cookie returns the cookie of a session.
func (s *Server) cookie(token string) *http.Cookie {
	c := &http.Cookie{
		Name:     s.cookieName(),
		Value:    token,
		Path:     "/",
		HttpOnly: true,
		Secure:   s.secure(),
		SameSite: http.SameSiteStrictMode,
	}
	if token == "" {
		// The browser removes it.
		c.MaxAge = -1
	}
	return c
}

// hasCredentials reports whether a request has a key or a session, valid or not.
func hasCredentials(r *http.Request) bool {
	return r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != ""
}

// who is the caller of a request.
type who struct {
	key  *access.Key
	form string // the token of forms, "" for a key in a header
}

// identify returns the caller of a request.
func (s *Server) identify(r *http.Request) (*who, error) {
	if values := r.Header.Values("Authorization"); len(values) > 0 {
		scheme, text, _ := strings.Cut(values[0], " ")
		if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return nil, diag.New(diag.AuthFailed, "reading the key: the header Authorization must be: Bearer KEY")
		}
		key, err := s.p.Keys.Find(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		return &who{key: key}, nil
	}
	c, err := r.Cookie(s.cookieName())
	if err != nil {
		return nil, diag.New(diag.AuthRequired, "reading the key: the gateway needs a key, or a session of a browser").
			WithReason("gateway_key_needed")
	}
	found := s.sessions.find(c.Value)
	if found == nil {
		return nil, diag.New(diag.AuthRequired, "reading the session: it has ended").
			WithReason("gateway_key_needed")
	}
	key := access.Local()
	if found.key != key.ID {
		// A key that was revoked ends its sessions.
		if key, err = s.p.Keys.ByID(found.key); err != nil {
			return nil, err
		}
	}
	return &who{key: key, form: found.token}, nil
}

// authorize returns the caller if the caller has a role. The status of a failure is
// 401 without a caller, or 403 or 429 with one.
func (s *Server) authorize(
	r *http.Request,
	role access.Role,
) (*who, int, error) {
	caller, err := s.identify(r)
	if err != nil {
		return nil, http.StatusUnauthorized, err
	}
	if wait := s.limits.key(caller.key.ID); wait > 0 {
		return caller, http.StatusTooManyRequests, busy(wait)
	}
	if !caller.key.Role.Includes(role) {
		return caller, http.StatusForbidden, diag.New(diag.PermissionDenied, "serving the request: it needs the role %s, and the key has the role %s", role, caller.key.Role).
			WithReason("gateway_role")
	}
	return caller, http.StatusOK, nil
}

// view returns the projects as the caller sees them.
func (s *Server) view(caller *who) *host.View {
	return s.p.Host.For(host.Caller{
		Projects: caller.key.Sees(s.p.Host.Projects()),
		By:       caller.key.By(),
		Held:     caller.key.Held(),
	})
}

// record writes a request into the audit log, after it was served.
func (s *Server) record(
	w http.ResponseWriter,
	r *http.Request,
	caller *who,
	body string,
	status int,
) {
	e := trail.Entry{
		Address: s.address(r),
		Method:  r.Method,
		Path:    r.URL.Path,
		Body:    body,
		Status:  status,
		Request: w.Header().Get(httpserve.RequestID),
	}
	if caller != nil {
		e.Key = caller.key.ID + " " + caller.key.Name
	}
	err := s.p.Trail.Append(r.Context(), e)
	if err != nil {
		s.note(err.Error())
	}
}

// digested is a body whose digest is known when it was read.
type digested struct {
	io.ReadCloser

	sum interface {
		io.Writer
		Sum([]byte) []byte
	}
}

func digestBody(r *http.Request) *digested {
	d := &digested{ReadCloser: r.Body, sum: sha256.New()}
	r.Body = d
	return d
}

// Read implements io.Reader.
func (d *digested) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	_, _ = d.sum.Write(p[:n])
	return n, err
}

func (d *digested) text() string {
	return "sha256:" + hex.EncodeToString(d.sum.Sum(nil))
}

// Rates of requests.
const (
	keyRate      = 20.0
	keyBurst     = 60.0
	strangerRate = 5.0
	signInRate   = 5.0 / 60
	signInBurst  = 5.0
	startRate    = 30.0 / 60
	startBurst   = 30.0
	maxBuckets   = 10_000
)

// limiter bounds the rates of requests by buckets of tokens.
type limiter struct {
	now func() time.Time

	mu   sync.Mutex
	list map[string]*bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

func newLimiter(now func() time.Time) *limiter {
	return &limiter{
		now:  now,
		list: map[string]*bucket{},
	}
}

// take removes a token from a bucket, and returns how long to wait if it has none.
func (l *limiter) take(name string, rate, burst float64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b := l.list[name]
	if b == nil {
		if len(l.list) > maxBuckets {
			// Many addresses at once are an attack: all begin again.
			clear(l.list)
		}
		b = &bucket{tokens: burst, at: now}
		l.list[name] = b
	}
	b.tokens = min(burst, b.tokens+rate*now.Sub(b.at).Seconds())
	b.at = now
	if b.tokens < 1 {
		return time.Duration(math.Ceil((1-b.tokens)/rate*1000)) * time.Millisecond
	}
	b.tokens--
	return 0
}

func (l *limiter) key(id string) time.Duration {
	return l.take("key "+id, keyRate, keyBurst)
}

// address bounds requests without a key. One with a key is bounded by it.
func (l *limiter) address(address string, credentials bool) time.Duration {
	if credentials {
		return l.take("known "+address, 2*keyRate, 2*keyBurst)
	}
	return l.take("address "+address, strangerRate, keyBurst)
}

func (l *limiter) signIn(address string) time.Duration {
	return l.take("sign in "+address, signInRate, signInBurst)
}

func (l *limiter) start(id string) time.Duration {
	return l.take("start "+id, startRate, startBurst)
}

func busy(wait time.Duration) error {
	return diag.New(diag.LimitExceeded, "serving the request: too many requests; try again in %s", wait.Round(time.Second)+time.Second)
}

// tooMany answers 429.
func tooMany(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	fail(w, http.StatusTooManyRequests, busy(wait))
}
