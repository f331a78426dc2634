package gateway

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
)

// envelope is the JSON document of every answer, as commands print it.
type envelope[T any] struct {
	Success bool `json:"success"`
	Data    T    `json:"data"`
}

// reply is an answer of the API.
type reply[T any] struct {
	Status int
	Body   envelope[T]
}

func ok[T any](data T) *reply[T] {
	return &reply[T]{
		Status: http.StatusOK,
		Body:   envelope[T]{Success: true, Data: data},
	}
}

// failure is the answer for an error.
type failure struct {
	status  int
	Success bool   `json:"success"`
	Err     reason `json:"error"`
}

// reason is an error as clients see it.
type reason struct {
	Code      string         `json:"code"`
	Message   string         `json:"message"`
	Details   map[string]any `json:"details,omitempty"`
	Retryable bool           `json:"retryable"`
}

// Error implements error.
func (f *failure) Error() string {
	return f.Err.Message
}

// GetStatus implements huma.StatusError.
func (f *failure) GetStatus() int {
	return f.status
}

// ContentType implements huma.ContentTypeFilter: a failure is a document as any other.
func (f *failure) ContentType(string) string {
	return "application/json"
}

// statusOf returns the HTTP status of an error.
func statusOf(err error) int {
	code := diag.CodeOf(err)
	switch code {
	case diag.ThreadState, diag.Conflict:
		return http.StatusConflict
	case diag.BudgetExceeded:
		return http.StatusPaymentRequired
	case diag.TooLarge:
		return http.StatusRequestEntityTooLarge
	}
	switch code.Class() {
	case diag.ClassUsage, diag.ClassInvalid, diag.ClassUnresolvable:
		return http.StatusBadRequest
	case diag.ClassAuth:
		return http.StatusUnauthorized
	case diag.ClassDenied, diag.ClassTrust:
		return http.StatusForbidden
	case diag.ClassNotFound:
		return http.StatusNotFound
	case diag.ClassDrift:
		return http.StatusConflict
	case diag.ClassLimit:
		return http.StatusTooManyRequests
	case diag.ClassRemote:
		return http.StatusBadGateway
	}
	return http.StatusInternalServerError
}

// failed returns the answer for an error. A missing key of the model's service is not a missing key of
// the client.
func failed(status int, err error) *failure {
	// A cause can repeat a secret of the environment.
	e := diag.Typed(err)
	f := diag.NewFailure(e)
	return &failure{status: status, Err: reason{
		Code:      string(f.Code),
		Message:   diag.Redact(e.Error()),
		Details:   f.Details,
		Retryable: f.Retryable,
	}}
}

// failedAct is failed for an error of an action: the caller was authorized before.
func failedAct(err error) error {
	status := statusOf(err)
	if status == http.StatusUnauthorized {
		status = http.StatusBadGateway
	}
	return failed(status, err)
}

// fail writes the answer for an error.
func fail(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="rye"`)
	case status == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "":
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	b, _ := json.Marshal(failed(status, err)) // it has no value that JSON lacks
	_, _ = w.Write(append(b, '\n'))
}

// useOwnErrors has the framework answer with the envelope. Its own answers repeat the request.
var useOwnErrors = sync.OnceFunc(func() {
	huma.ValidateStrictCasing = true
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		if status == http.StatusUnprocessableEntity {
			status = http.StatusBadRequest
		}
		code := diag.ValidationFailed
		if status >= http.StatusInternalServerError {
			code = diag.Internal
		}
		details := []string{}
		for _, err := range errs {
			var d *huma.ErrorDetail
			if errors.As(err, &d) {
				// Value would repeat what the client sent.
				details = append(details, d.Location+": "+d.Message)
			}
		}
		out := failed(status, diag.New(code, "reading the request: %s", message))
		if len(details) > 0 {
			out.Err.Details = map[string]any{"findings": details}
		}
		return out
	}
})

// strictJSON reads and writes JSON. A name that occurs twice is an error: of two decisions, one would be
// taken that another reader of the request does not see.
func strictJSON() huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, v any) error {
			e := json.NewEncoder(w)
			return e.Encode(v)
		},
		Unmarshal: func(b []byte, v any) error {
			_, found := jsonx.ParseMessage(b)
			if err := diag.FromFindings("reading the body", found); err != nil {
				return err
			}
			return json.Unmarshal(b, v)
		},
	}
}
