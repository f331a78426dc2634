package mcpclient

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/httpx"
)

// web sends requests to one server. It refuses redirects and endpoints of another
// origin, so that the headers with credentials are sent to this origin only.
type web struct {
	base    http.RoundTripper
	origin  *url.URL
	headers map[string]string

	// discreet leaves the server's text out of errors: the caller chose the address
	// and may not own it.
	discreet bool

	mu     sync.Mutex
	status int    // of the last response, or of the last refusal; 0 before the first
	media  string // its media type
}

func newWeb(s *Server, o Options) (*web, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, diag.New(diag.ConfigError, "reading the address of MCP server %s: %w", s.Name, err)
	}
	base := o.Web
	if base == nil {
		base = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	}
	return &web{
		base:     base,
		origin:   u,
		headers:  s.Headers,
		discreet: o.Discreet,
	}, nil
}

// transport returns the transport of the protocol.
func (w *web) transport(s *Server) mcp.Transport {
	client := &http.Client{Transport: w}
	if s.Transport == SSE {
		return &mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: client}
	}
	return &mcp.StreamableClientTransport{
		Endpoint:             s.URL,
		HTTPClient:           client,
		DisableStandaloneSSE: true,
		MaxRetries:           2,
	}
}

// request is a call of a tool, which the context of its HTTP request has.
type request struct {
	unread atomic.Bool // the server refused it because its session has ended
}

type requestKey struct{}

// RoundTrip implements http.RoundTripper.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != w.origin.Scheme || r.URL.Host != w.origin.Host {
		return nil, diag.New(diag.Network, "it redirects to another origin, %s://%s", r.URL.Scheme, r.URL.Host)
	}
	r = r.Clone(r.Context())
	for name, v := range w.headers {
		r.Header.Set(name, v)
	}
	res, err := w.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	sent, ok := r.Context().Value(requestKey{}).(*request)
	if ok &&
		r.Method == http.MethodPost &&
		res.StatusCode == http.StatusNotFound &&
		r.Header.Get("Mcp-Session-Id") != "" {
		sent.unread.Store(true) // the protocol: the session has ended
	}
	media, _ := httpx.MediaType(res.Header.Get("Content-Type"))
	w.mu.Lock()
	if res.StatusCode >= 400 || w.status < 400 { // keep the last refusal
		w.status = res.StatusCode
		w.media = clipped(hidden.Visible(media))
	}
	w.mu.Unlock()
	switch {
	case media == "text/event-stream": // the library limits the size of events
		res.Body = newEvents(res.Body)
	case media == "application/json" && res.StatusCode < 400:
		res.Body = &wholeMessage{body: &bounded{ReadCloser: res.Body, left: MaxMessage}}
		res.ContentLength = -1
		res.Header.Del("Content-Length")
	default:
		res.Body = &bounded{ReadCloser: res.Body, left: MaxMessage}
	}
	return res, nil
}

// answered returns the recorded status, and a description of the response by
// status and media type only.
func (w *web) answered() (status int, summary string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	summary = fmt.Sprintf("HTTP %d", w.status)
	if w.media != "" {
		summary += ", " + w.media
	}
	return w.status, summary
}

// bounded is a body that ends with an error after a number of bytes.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, diag.New(diag.TooLarge, "it sent a message of more than %d bytes", MaxMessage)
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

// wholeMessage is a body that consists of one message, made readable.
type wholeMessage struct {
	body io.ReadCloser
	text *bytes.Reader // nil before the first Read
}

// Read implements io.Reader.
func (m *wholeMessage) Read(p []byte) (int, error) {
	if m.text == nil {
		b, err := io.ReadAll(m.body)
		if err != nil {
			return 0, err
		}
		m.text = bytes.NewReader(readable(b))
	}
	return m.text.Read(p)
}

// Close implements io.Closer.
func (m *wholeMessage) Close() error {
	return m.body.Close()
}

// events is a stream of events whose messages are made readable.
type events struct {
	body  io.ReadCloser
	lines *bufio.Reader
	data  []byte // the data of the current event
	ready []byte // not read yet
}

func newEvents(body io.ReadCloser) *events {
	return &events{body: body, lines: bufio.NewReader(body)}
}

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	for len(e.ready) == 0 {
		line, err := e.line()
		if err != nil {
			if e.finish(); len(e.ready) > 0 {
				break
			}
			return 0, err
		}
		switch text, isData := bytes.CutPrefix(line, []byte("data:")); {
		case isData:
			if e.data != nil {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, bytes.TrimPrefix(text, []byte(" "))...)
			if len(e.data) > MaxMessage {
				return 0, diag.New(diag.TooLarge, "it sent a message of more than %d bytes", MaxMessage)
			}
		case len(line) == 0:
			e.finish()
			e.ready = append(e.ready, '\n')
		default:
			e.ready = append(append(e.ready, line...), '\n')
		}
	}
	n := copy(p, e.ready)
	e.ready = e.ready[n:]
	return n, nil
}

// finish writes the data of the current event as one line. A message contains no
// line ends outside of its texts, where they are escaped.
func (e *events) finish() {
	if e.data == nil {
		return
	}
	message := readable(e.data)
	e.data = nil
	for line := range bytes.SplitSeq(message, []byte{'\n'}) {
		e.ready = append(append(append(e.ready, "data: "...), line...), '\n')
	}
}

// line returns the next line without its end.
func (e *events) line() ([]byte, error) {
	var out []byte
	for {
		part, err := e.lines.ReadSlice('\n')
		out = append(out, part...)
		if len(out) > MaxMessage {
			return nil, diag.New(diag.TooLarge, "it sent a message of more than %d bytes", MaxMessage)
		}
		switch {
		case err == nil:
			return bytes.TrimSuffix(
				bytes.TrimSuffix(out, []byte{'\n'}),
				[]byte{'\r'},
			), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(out) > 0:
			return out, nil
		default:
			return nil, err
		}
	}
}

// Close implements io.Closer.
func (e *events) Close() error {
	return e.body.Close()
}
