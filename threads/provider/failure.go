package provider

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/httpstep"
	"github.com/ryeos/rye/threads/message"
)

// Failure is why a call has no response. It has the facts by which
// config:agent/error_classification decides what to do next, and no secret.
type Failure struct {
	StatusCode   int               `json:"status_code,omitempty"` // of HTTP, or that the error within an answer states
	Code         string            `json:"code"`                  // of the service if it stated one, else of Err
	Type         string            `json:"type,omitempty"`        // as the service states it
	Message      string            `json:"message"`
	Reason       string            `json:"reason,omitempty"` // such as stream_incomplete
	Headers      map[string]string `json:"headers,omitempty"`
	RetryAfterMS int64             `json:"retry_after_ms,omitempty"`
	Body         string            `json:"body,omitempty"` // of an error with a status, without its end if it is long
	Usage        message.Usage     `json:"usage"`          // to be settled: zero if the service billed nothing
	OutputBytes  int64             `json:"output_bytes"`   // of the answer that was discarded
	Err          *diag.Error       `json:"-"`
}

// Error returns the message.
func (f *Failure) Error() string {
	return f.Err.Error()
}

// Unwrap returns the typed error.
func (f *Failure) Unwrap() error {
	return f.Err
}

// serviceError is an error that a service stated in a body or in a stream.
type serviceError struct {
	Type    string
	Code    string
	Message string
	RetryMS int64 // the wait that the service asks for, or 0
	Reason  string
}

func (e *serviceError) Error() string {
	return e.Message
}

// errorIn reads the error in an event of a stream.
func errorIn(data []byte) error {
	return readError(data)
}

// readError reads the error that a service wrote. The services agree on an object
// error with message, type and code; some write the members at the top, some a text.
func readError(data []byte) *serviceError {
	out := &serviceError{}
	f, err := readFields(data)
	if err != nil {
		out.Message = short(string(data))
		return out
	}
	in := f
	if inner, err := readFields(f.get("error")); err == nil {
		in = inner
	} else if text := f.text("error"); text != "" {
		out.Message = short(text)
	}
	out.Type = in.text("type")
	if out.Type == "" {
		out.Type = in.text("status")
	}
	for _, raw := range elements(in.get("details")) {
		if info, err := readFields(raw); err == nil {
			d, _ := time.ParseDuration(info.text("retryDelay"))
			out.RetryMS = max(out.RetryMS, d.Milliseconds())
		}
	}
	out.Code = in.text("code")
	if raw := in.get("code"); out.Code == "" && raw != nil {
		var n json.Number
		if json.Unmarshal(raw, &n) == nil {
			out.Code = n.String()
		}
	}
	for _, key := range []string{"message", "detail"} {
		if out.Message == "" {
			out.Message = short(in.text(key))
		}
	}
	if out.Message == "" {
		out.Message = short(string(data))
	}
	return out
}

// ErrorText returns the text of an error that a service wrote as the body of a response.
func ErrorText(body []byte) string {
	return readError(body).Message
}

// maxMessage is the length of the longest message of a service that errors repeat.
const maxMessage = 2000

func short(s string) string {
	if r := []rune(s); len(r) > maxMessage {
		return string(r[:maxMessage]) + "…"
	}
	return s
}

// statusFailure returns the failure that an HTTP status means. Nothing is billed.
func (c *Config) statusFailure(r *httpstep.Reply) *Failure {
	said := readError(r.Body)
	code := diag.ProviderError
	if r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden {
		code = diag.AuthFailed
	}
	said.Message = r.Redact(said.Message)
	if said.Message == "" {
		said.Message = http.StatusText(r.Status)
	}
	e := diag.New(code, "calling %s: the service answered %d: %s", c.ID, r.Status, said.Message)
	if r.Status == http.StatusNotFound || r.Status == http.StatusMethodNotAllowed {
		e = e.WithReason("provider_address").WithDetail("ref", "tool:"+c.ID)
	}
	f := &Failure{
		StatusCode:   r.Status,
		Code:         said.Code,
		Type:         said.Type,
		Message:      said.Message,
		Headers:      retryHeaders(r.Header),
		Err:          e,
		RetryAfterMS: retryAfter(r, said.Message),
		Body:         r.Redact(short(string(r.Body))),
	}
	if f.RetryAfterMS == 0 {
		f.RetryAfterMS = said.RetryMS
	}
	if f.Code == "" {
		f.Code = string(code)
	}
	e.Retryable = r.Status == http.StatusTooManyRequests ||
		r.Status == http.StatusRequestTimeout ||
		r.Status >= 500
	return f.detailed()
}

// detailed adds the facts to the typed error.
func (f *Failure) detailed() *Failure {
	for key, v := range map[string]string{"type": f.Type, "service_code": f.Code} {
		if v != "" {
			f.Err.WithDetail(key, v)
		}
	}
	if f.StatusCode != 0 {
		f.Err.WithDetail("status_code", int64(f.StatusCode))
	}
	if f.RetryAfterMS > 0 {
		f.Err.WithDetail("retry_after_ms", f.RetryAfterMS)
	}
	return f
}

// retryHeaders returns the headers that patterns of errors may use, in lower case: those that
// state limits, and the ids of the request.
func retryHeaders(h http.Header) map[string]string {
	out := map[string]string{}
	for name := range h {
		key := strings.ToLower(name)
		v := h.Get(name)
		if v != "" &&
			len(v) <= maxHeader &&
			(key == "request-id" || key == "x-request-id" || limitHeader(key)) {
			out[key] = v
		}
	}
	return out
}

// maxHeader is the length of the longest header that a pattern may use.
const maxHeader = 200

// limitHeader reports whether a header states a limit: services have no common name for it.
func limitHeader(name string) bool {
	for _, part := range []string{"retry-after", "ratelimit", "rate-limit", "x-should-retry"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// tryAgain finds the wait in a message such as "Please try again in 1.5s". The other forms of
// services are data of config:agent/error_classification.
var tryAgain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)try again in (\d+(?:\.\d+)?)(ms|s)\b`)
})

// retryAfter returns the wait that the service asks for in milliseconds, or 0.
func retryAfter(r *httpstep.Reply, text string) int64 {
	n, err := strconv.ParseFloat(r.Header.Get("Retry-After-Ms"), 64)
	if err == nil && n > 0 && n < 1e9 {
		return int64(n)
	}
	if r.RetryAfter > 0 {
		return r.RetryAfter.Milliseconds()
	}
	m := tryAgain().FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	d, err := time.ParseDuration(m[1] + m[2])
	if err != nil {
		return 0
	}
	return d.Milliseconds()
}

// failure types an error of a request or of its stream.
func (c *Config) failure(err error, redact func(string) string) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	var said *serviceError
	if errors.As(err, &said) {
		text := redact(said.Message)
		f = &Failure{
			Code:         redact(said.Code),
			Type:         redact(said.Type),
			Message:      text,
			Reason:       said.Reason,
			RetryAfterMS: said.RetryMS,
			Err:          diag.New(diag.ProviderError, "calling %s: the service stopped: %s", c.ID, text),
		}
		// Gateways pass the status of the service behind them on in an answer with the status 200.
		n, err := strconv.Atoi(said.Code)
		if err == nil && n >= http.StatusBadRequest && n < 600 {
			f.StatusCode = n
		}
		if f.Code == "" {
			f.Code = string(diag.ProviderError)
		}
		return f.detailed()
	}
	var typed *diag.Error
	if !errors.As(err, &typed) {
		typed = diag.New(diag.ProviderError, "calling %s: %w", c.ID, err)
	}
	out := *typed
	out.Message = redact(out.Message)
	if address := refusedHere(err); address != "" {
		out.
			WithReason("local_server").
			WithDetail("address", address).
			WithDetail("provider", c.ID)
		out.Retryable = false
	}
	return &Failure{
		Code:    string(out.Code),
		Message: out.Message,
		Reason:  out.Reason,
		Err:     &out,
	}
}

// refusedHere returns the address of this machine that refused a connection, or "".
func refusedHere(err error) string {
	var op *net.OpError
	if !errors.Is(err, syscall.ECONNREFUSED) ||
		!errors.As(err, &op) ||
		op.Addr == nil {
		return ""
	}
	at, perr := netip.ParseAddrPort(op.Addr.String())
	if perr != nil || !at.Addr().Unmap().IsLoopback() {
		return ""
	}
	return op.Addr.String()
}
