package applet

import (
	"bytes"
	"errors"
	"io"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
)

// maxParams is the largest parameter object, in bytes of JSON.
const maxParams = 32 << 20

// readParams reads exactly one JSON object.
func readParams(r io.Reader) (map[string]any, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxParams+1))
	if err != nil {
		return nil, diag.New(diag.ParsingError, "reading parameters: %w", err)
	}
	if len(data) > maxParams {
		return nil, diag.New(diag.TooLarge, "reading parameters: more than %d bytes", maxParams)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return map[string]any{}, nil
	}
	v, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, diag.New(diag.ParsingError, "reading parameters: the JSON value is %s, not an object", typeName(v))
	}
	return m, nil
}

func parseJSON(data []byte) (any, error) {
	v, findings := jsonx.ParseValue(data)
	if err := diag.FromFindings("reading parameters", findings); err != nil {
		return nil, err
	}
	return v, nil
}

// writeJSON writes v as one line.
func writeJSON(w io.Writer, v any) error {
	b, err := jsonx.Marshal(v)
	if err != nil {
		return diag.New(diag.Internal, "writing result: %w", err)
	}
	if _, err := w.Write(append(b, '\n')); err != nil {
		return diag.New(diag.FileSystemError, "writing result: %w", err)
	}
	return nil
}

// failure is the error half of the one envelope.
type failure struct {
	Success bool      `json:"success"`
	Error   errorBody `json:"error"`
}

type errorBody struct {
	Code       diag.Code      `json:"code"`
	Message    string         `json:"message"`
	Details    map[string]any `json:"details,omitempty"`
	Retryable  bool           `json:"retryable"`
	Suggestion string         `json:"suggestion,omitempty"`
}

// envelope renders an error; an untyped one is UNKNOWN_ERROR.
func envelope(err error) failure {
	var e *diag.Error
	if !errors.As(err, &e) {
		e = diag.New(diag.UnknownError, "%s", err)
	}
	body := errorBody{Code: e.Code, Message: e.Message, Retryable: e.Retryable, Suggestion: e.Hint, Details: map[string]any{}}
	for k, v := range e.Details {
		body.Details[k] = v
	}
	if len(e.Findings) > 0 {
		body.Details["findings"] = e.Findings
	}
	return failure{Error: body}
}
