package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/wire"
)

// Handler serves the static files, the API and the pages.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for endpoint, do := range map[string]func(context.Context, *request) (*wire.Receipt, error){
		"/publish": s.publish, "/state": s.changeState, "/binding": s.bind, "/keys": s.changeKeys, "/revocation": s.revoke,
	} {
		mux.HandleFunc("POST "+wire.APIPath+endpoint, s.write(endpoint, do))
	}
	mux.HandleFunc("POST "+wire.APIPath+"/report", s.reportRequest)
	mux.HandleFunc("GET /{$}", s.page(s.homePage))
	mux.HandleFunc("GET /find", s.page(s.findPage))
	mux.HandleFunc("GET /b/{ns}/{name}", s.page(s.bundlePage))
	mux.HandleFunc("GET /b/{ns}/{name}/{version}", s.page(s.bundlePage))
	mux.HandleFunc("GET /b/{ns}/{name}/{major}/{version}", s.page(s.bundlePage))
	mux.HandleFunc("GET /log/entry/{index}", s.page(s.entryPage))
	mux.HandleFunc("GET /ns/{ns}", s.namespaceOrFile)
	mux.HandleFunc("GET /style.css", serveStyle)
	mux.HandleFunc("GET /", s.static)
	return mux
}

// write handles a request that changes the registry.
func (s *Server) write(endpoint string, do func(context.Context, *request) (*wire.Receipt, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, h *http.Request) {
		receipt, err := s.handle(w, h, endpoint, do)
		if err != nil {
			s.fail(w, h, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(receipt.Render())
	}
}

func (s *Server) handle(
	w http.ResponseWriter,
	h *http.Request,
	endpoint string,
	do func(context.Context, *request) (*wire.Receipt, error),
) (*wire.Receipt, error) {
	ctx := h.Context()
	if h.ContentLength != 0 { // else the server reads a short body before it sends a refusal
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.total))
	}
	st, known, err := s.admitRequest(ctx, h, endpoint)
	if err != nil {
		return nil, err
	}
	slots := s.strangers
	if known {
		slots = s.known
	}
	leave, err := s.enter(ctx, slots)
	if err != nil {
		return nil, err
	}
	defer leave() // also the body stays in memory until then
	w.Header().Del("Connection")
	limit := int64(wire.MaxRequest)
	if endpoint == "/publish" {
		limit = s.config.Limits.ArchiveBytes
	}
	body, err := s.readBody(w, h, limit)
	if err != nil {
		return nil, err
	}
	return do(ctx, &request{
		statement: st,
		body:      body,
		address:   addressOf(h),
		now:       s.p.Now(),
	})
}

func addressOf(h *http.Request) string {
	host, _, err := net.SplitHostPort(h.RemoteAddr)
	if err != nil {
		return h.RemoteAddr
	}
	return host
}

// readBody reads a body of at most limit bytes that arrives without long pauses.
func (s *Server) readBody(
	w http.ResponseWriter,
	h *http.Request,
	limit int64,
) ([]byte, error) {
	if h.ContentLength > limit {
		return nil, diag.New(diag.LimitExceeded, "reading the body of the request: it has %d bytes, at most %d are allowed", h.ContentLength, limit)
	}
	c := http.NewResponseController(w)
	b, err := io.ReadAll(io.LimitReader(
		&patient{h.Body, c, s.stall, time.Now().Add(s.bodyTime(limit))},
		limit+1,
	))
	_ = c.SetReadDeadline(time.Time{})
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, diag.New(diag.Timeout, "reading the body of the request: %s passed without data, or it took more than %s", s.stall, s.bodyTime(limit))
	case err != nil:
		return nil, diag.New(diag.ValidationFailed, "reading the body of the request: %w", err)
	case int64(len(b)) > limit:
		return nil, diag.New(diag.LimitExceeded, "reading the body of the request: it has more than %d bytes", limit)
	}
	return b, nil
}

// bodyTime returns how long a body may take: ten minutes for the longest archive.
func (s *Server) bodyTime(limit int64) time.Duration {
	if limit <= wire.MaxRequest {
		return s.total
	}
	return 20 * s.total
}

// patient is a body whose every read may take a bounded time, and all of them together.
type patient struct {
	r     io.Reader
	c     *http.ResponseController
	stall time.Duration
	until time.Time
}

// Read implements io.Reader.
func (p *patient) Read(b []byte) (int, error) {
	at := time.Now().Add(p.stall)
	if at.After(p.until) {
		at = p.until
	}
	_ = p.c.SetReadDeadline(at) // a writer without deadlines has none to extend
	return p.r.Read(b)
}

// statusOf returns the HTTP status for an error.
func statusOf(e *diag.Error) int {
	switch {
	case e.Reason == "registry_quota":
		return http.StatusTooManyRequests
	case e.Reason == "version_used":
		return http.StatusConflict
	case e.Code == diag.RegistryError:
		return http.StatusServiceUnavailable
	case e.Code == diag.AuthFailed:
		return http.StatusForbidden
	case e.Code == diag.VersionNotFound:
		return http.StatusNotFound
	case e.Code == diag.LimitExceeded:
		return http.StatusRequestEntityTooLarge
	case e.Code == diag.Timeout:
		return http.StatusRequestTimeout
	case e.Code.Class() == diag.ClassMachine || e.Code.Class() == diag.ClassBug:
		return http.StatusInternalServerError
	}
	return http.StatusUnprocessableEntity
}

// fail answers with the envelope of an error. Texts about this machine stay here.
func (s *Server) fail(w http.ResponseWriter, h *http.Request, err error) {
	e := diag.Typed(err)
	status := statusOf(e)
	wait := time.Duration(0)
	if d, ok := e.Details["wait"].(time.Duration); ok {
		wait = d
		delete(e.Details, "wait")
	}
	if status >= 500 {
		s.p.Note(h.Method + " " + h.URL.Path + ": " + e.Error())
		wait = retryLater
		e = diag.New(diag.RegistryError, "changing the registry: the registry cannot store anything now")
	}
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if status == http.StatusRequestEntityTooLarge || status == http.StatusRequestTimeout {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(status)
	_, _ = w.Write(wire.RenderFailure(e, wait))
}

// maxReport is the longest text of a report, in bytes.
const maxReport = 4000

// reportRequest stores a report for the operator.
func (s *Server) reportRequest(w http.ResponseWriter, h *http.Request) {
	err := func() error {
		err := s.meta.admit(h.Context(), "", quota{"report " + addressOf(h), 20, 24 * time.Hour, "reports from this address"})
		if err != nil {
			return err
		}
		leave, err := s.enter(h.Context(), s.strangers)
		if err != nil {
			return err
		}
		defer leave()
		b, err := s.readBody(w, h, wire.MaxRequest)
		if err != nil {
			return err
		}
		r, err := wire.ParseBody[wire.Report](b)
		if err != nil {
			return err
		}
		if len(r.Text) > maxReport || r.Text == "" {
			return diag.New(diag.ValidationFailed, "reading the report: its text has %d bytes, 1 to %d are allowed", len(r.Text), maxReport)
		}
		if s.snapshot().Version(r.ID, r.Version) == nil {
			return diag.New(diag.VersionNotFound, "reading the report: %s %s was not published", r.ID, r.Version)
		}
		return s.meta.report(h.Context(), r, addressOf(h))
	}()
	if err != nil {
		s.fail(w, h, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
