package httpstep

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpfill"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/jsonx"
)

// maxShownBody is how many bytes of a failed response an error repeats.
const maxShownBody = 2048

// result returns the tool result of a response whose body was read, and the
// error that its status or size means.
func (x *exchange) result(res *httpx.Response) (map[string]any, error) {
	data := x.head(res)
	if res.Truncated {
		data["truncated"] = true
	}
	data["body"] = x.body(res, data)
	return data, x.failure(res, data)
}

// head returns the part of a result that does not depend on the body.
func (x *exchange) head(res *httpx.Response) map[string]any {
	headers := map[string]any{}
	for name, values := range res.Header {
		text := x.secret.Text(strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD"))
		// A session cookie is a credential that the server made: the redactor
		// does not know it.
		if strings.HasPrefix(name, "Set-Cookie") {
			text = httpfill.Redacted
		}
		headers[name] = text
	}
	data := map[string]any{
		"success": res.OK(), "status_code": int64(res.Status), "headers": headers,
		"url": x.secret.Text(httpx.Shown(res.URL)), "attempts": int64(res.Attempts),
	}
	if res.RetryAfter > 0 {
		data["retry_after_ms"] = res.RetryAfter.Milliseconds()
	}
	return data
}

// body decodes a response by its content type: JSON as a value, other UTF-8 as
// text, anything else in base64.
func (x *exchange) body(res *httpx.Response, data map[string]any) any {
	raw := x.secret.Bytes(res.Body)
	if isJSON(res.Header.Get("Content-Type")) && !res.Truncated {
		if v, ok := jsonValue(raw); ok {
			return v
		}
	}
	if !utf8.Valid(raw) && res.Truncated {
		raw = trimPartialRune(raw)
	}
	if utf8.Valid(raw) {
		return string(raw)
	}
	data["body_encoding"] = "base64"
	return base64.StdEncoding.EncodeToString(raw)
}

// trimPartialRune removes a rune that the size limit cut in two.
func trimPartialRune(b []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax, len(b)); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

func isJSON(contentType string) bool {
	t, _ := httpx.MediaType(contentType)
	return t == "application/json" || t == "text/json" || strings.HasSuffix(t, "+json")
}

// jsonValue parses a JSON value. Servers send duplicate keys and numbers beyond
// 64 bits, which jsonx refuses: encoding/json reads those.
func jsonValue(b []byte) (any, bool) {
	if v, fs := jsonx.ParseMessage(b); !diag.Failed(fs) {
		return v, true
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil, false
	}
	_, err := dec.Token()
	return v, errors.Is(err, io.EOF)
}

// failure returns the error that a status or a truncated body means, or nil.
func (x *exchange) failure(res *httpx.Response, data map[string]any) error {
	var e *diag.Error
	switch {
	case !res.OK():
		e = x.statusError(res)
	case res.Truncated:
		e = diag.New(diag.ResourceExceeded, "asking %s: the response has more than %d bytes (max_bytes)", x.shown, x.config.maxBytes).
			WithReason("max_bytes").WithDetail("limit", "max_bytes")
	default:
		return nil
	}
	data["success"] = false
	for _, key := range []string{"status_code", "url", "attempts", "retry_after_ms"} {
		if v, has := data[key]; has {
			e.WithDetail(key, v)
		}
	}
	start := x.secret.Bytes(res.Body[:min(len(res.Body), maxShownBody)])
	text := strings.TrimSpace(string(bytes.ToValidUTF8(start, []byte("\uFFFD"))))
	if text != "" {
		e.WithDetail("body", text)
	}
	return e
}

func (x *exchange) statusError(res *httpx.Response) *diag.Error {
	code := diag.Network
	reason := ""
	more := ""
	switch auth := x.config.auth; {
	case auth != nil && (res.Status == http.StatusUnauthorized || res.Status == http.StatusForbidden):
		code = diag.AuthFailed
		reason = "credential_refused"
	case res.Status == http.StatusUnauthorized:
		code = diag.AuthRequired
		more = "; the request carried no credential (config.auth)"
	case res.Status == http.StatusRequestTimeout || res.Status == http.StatusGatewayTimeout:
		code = diag.Timeout
	}
	if res.RetryAfter > 0 {
		more += "; the server asks to wait " + res.RetryAfter.Round(time.Second).String()
	}
	e := diag.New(
		code,
		"asking %s: the server answered %d %s%s",
		x.shown,
		res.Status,
		http.StatusText(res.Status),
		more,
	).
		WithReason(reason)
	if reason != "" {
		e.WithDetail("credential", x.config.auth.source())
	}
	e.Retryable = slices.Contains(x.config.retry.Statuses, res.Status) ||
		res.Status >= 500 && res.Status != http.StatusNotImplemented
	return e
}

// stream passes the events of a response to the sinks. A response that is not
// an event stream is read as a whole.
func (x *exchange) stream(
	ctx context.Context,
	client *httpx.Client,
	req httpx.Request,
) (map[string]any, error) {
	res, err := client.Open(ctx, req)
	if err != nil {
		return nil, err
	}
	if res.Stream == nil {
		return x.result(res)
	}
	defer res.Stream.Close()
	framing := x.framing(res)
	if framing == "" {
		res.Body, err = io.ReadAll(res.Stream)
		if err != nil {
			return x.head(res), err
		}
		return x.result(res)
	}
	data := x.head(res)
	summary, err := x.pour(res.Stream, framing, data)
	data["stream"] = summary
	return data, err
}

// framing returns how the response is divided into events, "" when it is not a
// stream.
func (x *exchange) framing(res *httpx.Response) httpx.Framing {
	if x.config.framing != "auto" {
		return httpx.Framing(x.config.framing)
	}
	kind, _ := httpx.MediaType(res.Header.Get("Content-Type"))
	switch kind {
	case "text/event-stream":
		return httpx.SSE
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/jsonlines":
		return httpx.JSONLines
	}
	return ""
}
