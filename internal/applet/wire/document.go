package wire

import (
	"bytes"
	"errors"
	"io"
	"maps"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/tree"
)

// maxParams is the largest parameter object, in bytes of JSON.
const maxParams = 32 << 20

// readParams reads exactly one JSON object. Empty input is an empty object.
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
	v, findings := jsonx.ParseValue(data)
	if err := diag.FromFindings("reading parameters", findings); err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, diag.New(diag.ParsingError, "reading parameters: the JSON value is %s, not an object", tree.TypeName(v))
	}
	return m, nil
}

// writeJSON writes v as one line.
func writeJSON(w io.Writer, v any) error {
	b, err := jsonx.Marshal(v)
	if err != nil {
		return diag.New(diag.Internal, "writing result: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	if err != nil {
		return diag.New(diag.FileSystemError, "writing result: %w", err)
	}
	return nil
}

// failure is the document of a failed call.
type failure struct {
	Success bool  `json:"success"`
	Error   Error `json:"error"`
}

// Error is the error of a result document. Reason is the case of the code.
// An applet never names a command line: the process that started it maps the reason to a hint.
type Error struct {
	Code      diag.Code      `json:"code"`
	Message   string         `json:"message"`
	Reason    string         `json:"reason,omitempty"`
	Details   map[string]any `json:"details,omitempty"`
	Retryable bool           `json:"retryable"`
}

// failureOf renders an error. An untyped error has the code UNKNOWN_ERROR.
func failureOf(err error) failure {
	var e *diag.Error
	if !errors.As(err, &e) {
		e = diag.New(diag.UnknownError, "%s", err)
	}
	details := map[string]any{}
	maps.Copy(details, e.Details)
	if len(e.Findings) > 0 {
		details["findings"] = e.Findings
	}
	return failure{Error: Error{
		Code:      e.Code,
		Message:   e.Message,
		Reason:    e.Reason,
		Retryable: e.Retryable,
		Details:   details,
	}}
}
