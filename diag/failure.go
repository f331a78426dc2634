package diag

import (
	"context"
	"errors"
	"maps"
)

// Envelope is the JSON document of every result: of commands, MCP calls, graphs
// and threads. Error is set exactly when Success is false.
type Envelope struct {
	Success  bool     `json:"success"`
	Error    *Failure `json:"error,omitempty"`
	Data     any      `json:"data,omitempty"`
	Metadata any      `json:"metadata,omitempty"`
}

// Failure is an error as JSON documents show it.
type Failure struct {
	Code       Code           `json:"code"`
	Message    string         `json:"message"`
	Details    map[string]any `json:"details,omitempty"`
	Retryable  bool           `json:"retryable"`
	Suggestion string         `json:"suggestion,omitempty"` // made by the surface that shows it
}

// NewFailure renders a typed error without a suggestion.
func NewFailure(e *Error) *Failure {
	details := maps.Clone(e.Details)
	if len(e.Findings) > 0 {
		if details == nil {
			details = map[string]any{}
		}
		details["findings"] = e.Findings
	}
	return &Failure{
		Code:      e.Code,
		Message:   Redact(e.Message),
		Details:   details,
		Retryable: e.Retryable,
	}
}

// Typed returns the typed error in err's chain, or a typed error that wraps err.
func Typed(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled):
		return New(Cancelled, "%w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return New(Timeout, "%w", err)
	}
	return New(UnknownError, "%w", err)
}
