package primary

import (
	"context"
	"errors"
	"maps"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
)

// Envelope is the answer to every call: CLI --json, MCP, graphs and threads
// show the same. Error is set exactly when Success is false.
type Envelope struct {
	Success  bool      `json:"success"`
	Error    *Failure  `json:"error,omitempty"`
	Metadata *Metadata `json:"metadata,omitempty"`
	Data     any       `json:"data,omitempty"`
}

// Failure is an error as the envelope shows it.
type Failure struct {
	Code       diag.Code      `json:"code"`
	Message    string         `json:"message"`
	Details    map[string]any `json:"details,omitempty"`
	Retryable  bool           `json:"retryable"`
	Suggestion string         `json:"suggestion,omitempty"`
}

// NewFailure renders a typed error.
func NewFailure(e *diag.Error) *Failure {
	details := maps.Clone(e.Details)
	if len(e.Findings) > 0 {
		if details == nil {
			details = map[string]any{}
		}
		details["findings"] = e.Findings
	}
	return &Failure{Code: e.Code, Message: e.Message, Details: details, Retryable: e.Retryable, Suggestion: e.Hint}
}

// Typed returns the typed error that err is or becomes.
func Typed(err error) *diag.Error {
	var e *diag.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled):
		return diag.New(diag.Cancelled, "%w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return diag.New(diag.Timeout, "%w", err)
	}
	return diag.New(diag.UnknownError, "%w", err)
}

// Metadata tells how an answer came about.
type Metadata struct {
	Ref        string        `json:"ref"`
	DryRun     bool          `json:"dry_run,omitempty"`
	DurationMS int64         `json:"duration_ms"`
	ReturnCode *int          `json:"return_code,omitempty"`
	Signal     string        `json:"signal,omitempty"`
	Truncated  bool          `json:"truncated,omitempty"`
	Dropped    *exec.Dropped `json:"dropped_bytes,omitempty"` // set when truncated
	Usage      *exec.Usage   `json:"usage,omitempty"`
	Sandbox    *exec.Sandbox `json:"sandbox,omitempty"`
	Chain      []Element     `json:"chain,omitempty"`
}
