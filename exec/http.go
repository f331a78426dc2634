package exec

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpfill"
	"github.com/ryeos/rye/internal/httpx"
)

// HTTPClient is the primitive that sends one HTTP request from this process.
const HTTPClient = "rye/core/primitives/http_client"

// httpExchange is one call of the primitive.
type httpExchange struct {
	exec   *Executor
	in     NativeCall
	config *httpConfig
	secret *httpfill.Redactor
	shown  string // the URL without what may be secret
}

// httpClient is the body of the primitive: config in, one exchange, the answer
// out. What it was told is verified; parameters only fill the places left for
// them.
func (e *Executor) httpClient(ctx context.Context, in NativeCall) (map[string]any, error) {
	start := e.p.Now()
	conf, err := readHTTPConfig(in.Config)
	if err != nil {
		return nil, err
	}
	x := &httpExchange{exec: e, in: in, config: conf, secret: newRedactor(in)}
	data, err := x.run(ctx)
	if data != nil {
		data["duration_ms"] = e.p.Now().Sub(start).Milliseconds()
	}
	return data, x.secret.Err(err)
}

func (x *httpExchange) run(ctx context.Context) (map[string]any, error) {
	req, hosts, err := x.request()
	if err != nil {
		return nil, err
	}
	x.shown = x.secret.Text(httpx.Shown(req.URL))
	proxy, err := x.fill().Plain("proxy", x.config.proxy)
	if err != nil {
		return nil, err
	}
	client, err := httpx.New(httpx.Params{
		Hosts: hosts, AllowPrivate: x.config.allowPrivate, Proxy: proxy, ConnectTimeout: x.config.connectTimeout, Now: x.exec.p.Now,
	})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if x.config.stream {
		return x.stream(ctx, client, req)
	}
	res, err := client.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	return x.answer(res)
}

// answer is the result of an exchange whose body was read, and the error that
// its status or size means.
func (x *httpExchange) answer(res *httpx.Response) (map[string]any, error) {
	data := x.outline(res)
	if res.Truncated {
		data["truncated"] = true
	}
	data["body"] = x.body(res, data)
	return data, x.failure(res, data)
}

// outline is what every answer has.
func (x *httpExchange) outline(res *httpx.Response) map[string]any {
	headers := map[string]any{}
	for name, values := range res.Header {
		text := x.secret.Text(strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD"))
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

// body reads an answer as what its content type says: JSON as a value, text as
// it is, anything else in base64.
func (x *httpExchange) body(res *httpx.Response, data map[string]any) any {
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

// failure types what the status and the size mean.
func (x *httpExchange) failure(res *httpx.Response, data map[string]any) error {
	var e *diag.Error
	switch {
	case !res.OK():
		e = x.statusError(res)
	case res.Truncated:
		e = diag.New(diag.ResourceExceeded, "asking %s: the answer has more than %d bytes", x.shown, x.config.maxBytes).
			WithHint("raise max_bytes, or ask for less").WithDetail("limit", "max_bytes")
	default:
		return nil
	}
	data["success"] = false
	for _, key := range []string{"status_code", "url", "attempts", "retry_after_ms"} {
		if v, has := data[key]; has {
			e.WithDetail(key, v)
		}
	}
	if said := tail(x.secret.Bytes(res.Body[:min(len(res.Body), 2048)]), 2048); said != "" {
		e.WithDetail("body", said)
	}
	return e
}

func (x *httpExchange) statusError(res *httpx.Response) *diag.Error {
	code, hint := diag.Network, ""
	switch res.Status {
	case http.StatusUnauthorized:
		code, hint = diag.AuthRequired, "the tool sends no credential; its item says what it needs under auth"
		if x.config.auth != nil {
			code, hint = diag.AuthFailed, "the server refuses the credential: check "+x.config.auth.source()
		}
	case http.StatusForbidden:
		if x.config.auth != nil {
			code, hint = diag.AuthFailed, "the server knows the credential and does not allow this, or refuses it: check "+x.config.auth.source()
		}
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		code = diag.Timeout
	}
	e := diag.New(code, "asking %s: the server answers %d %s", x.shown, res.Status, http.StatusText(res.Status))
	e.Hint = hint
	e.Retryable = slices.Contains(x.config.retry.Statuses, res.Status) || res.Status >= 500 && res.Status != http.StatusNotImplemented
	if res.RetryAfter > 0 {
		e.WithHint("the server asks to wait %s", res.RetryAfter.Round(time.Second))
	}
	return e
}

// stream reads the events of an answer into the sinks. An answer that is no
// stream is read as a whole.
func (x *httpExchange) stream(ctx context.Context, client *httpx.Client, req httpx.Request) (map[string]any, error) {
	res, err := client.Open(ctx, req)
	if err != nil {
		return nil, err
	}
	if res.Stream == nil {
		return x.answer(res)
	}
	defer res.Stream.Close()
	framing := x.framing(res)
	if framing == "" {
		res.Body, err = io.ReadAll(res.Stream)
		if err != nil {
			return x.outline(res), err
		}
		return x.answer(res)
	}
	data := x.outline(res)
	told, err := x.pour(res.Stream, framing, data)
	data["stream"] = told
	return data, err
}

// framing is how the answer is cut, "" when it is no stream.
func (x *httpExchange) framing(res *httpx.Response) httpx.Framing {
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
