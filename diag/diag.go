// Package diag defines the errors of rye: stable codes, findings with a
// position, and the one typed error that every package returns.
//
// It contains facts only. Exit statuses and hints for people are made in
// internal/cli. It does not read files and does not know items.
package diag

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Severity is error for a finding that makes an operation fail, else warning.
type Severity string

// Severities.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Finding is one problem at one position. Path is relative to the argument that
// the user typed. Line and Column count from 1, Column in bytes; 0 is unknown.
type Finding struct {
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	Path     string   `json:"path,omitempty"`
	Line     int      `json:"line,omitempty"`
	Column   int      `json:"column,omitempty"`
	Message  string   `json:"message"`       // lower case, no period
	Fix      string   `json:"fix,omitempty"` // filled in by internal/cli from Reason and Facts

	Reason string         `json:"-"` // the case of the code, a key of the hints in internal/cli
	Facts  map[string]any `json:"-"` // values that the hint names
}

// WithReason returns the finding with the case of its code and the facts,
// given as key, value, …, that its hint names.
func (f Finding) WithReason(reason string, facts ...any) Finding {
	f.Reason = reason
	for i := 0; i+1 < len(facts); i += 2 {
		if f.Facts == nil {
			f.Facts = map[string]any{}
		}
		f.Facts[facts[i].(string)] = redacted(facts[i+1])
	}
	return f
}

// Equal reports whether two findings state the same problem. Facts only serve
// the hint and are not compared.
func (f Finding) Equal(g Finding) bool {
	return f.Severity == g.Severity && f.Code == g.Code && f.Path == g.Path && f.Line == g.Line && f.Column == g.Column &&
		f.Message == g.Message && f.Fix == g.Fix && f.Reason == g.Reason
}

// Errorf returns an error finding without a path.
func Errorf(code Code, line, col int, format string, args ...any) Finding {
	return Finding{
		Severity: SeverityError,
		Code:     code,
		Line:     line,
		Column:   col,
		Message:  Redact(fmt.Sprintf(format, args...)),
	}
}

// Warnf returns a warning without a path.
func Warnf(code Code, line, col int, format string, args ...any) Finding {
	f := Errorf(code, line, col, format, args...)
	f.Severity = SeverityWarning
	return f
}

// Location renders the known parts of path:line:column.
func (f Finding) Location() string {
	var b strings.Builder
	b.WriteString(f.Path)
	if f.Line > 0 {
		if b.Len() == 0 {
			b.WriteString("line ")
		} else {
			b.WriteByte(':')
		}
		fmt.Fprintf(&b, "%d", f.Line)
		if f.Column > 0 {
			fmt.Fprintf(&b, ":%d", f.Column)
		}
	}
	return b.String()
}

// String renders "path:line:column: CODE: message".
func (f Finding) String() string {
	s := string(f.Code) + ": " + f.Message
	if p := f.Location(); p != "" {
		s = p + ": " + s
	}
	return s
}

// WithPath returns the findings with the path set where it is missing.
func WithPath(fs []Finding, path string) []Finding {
	for i := range fs {
		if fs[i].Path == "" {
			fs[i].Path = path
		}
	}
	return fs
}

// Failed reports whether any finding is an error.
func Failed(fs []Finding) bool {
	return slices.ContainsFunc(fs, func(f Finding) bool {
		return f.Severity == SeverityError
	})
}

// Sort orders findings by path, line, column, severity, code and message.
func Sort(fs []Finding) {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
}

// Error is the typed error of every package: a code with facts.
type Error struct {
	Code      Code
	Message   string         // "gerund noun: cause", lower case, no period
	Reason    string         // the case of the code, a key of the hints in internal/cli; not shown
	Details   map[string]any // facts for the JSON form and the hint
	Findings  []Finding      // the problems, if there are several
	Retryable bool
	Err       error // cause, for errors.Is and errors.As
}

// New returns an Error with a code and message; %w in format wraps.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: Redact(err.Error()), Err: errors.Unwrap(err)}
}

// WithReason names the case of the code, for the hint, and returns the error.
func (e *Error) WithReason(reason string) *Error {
	e.Reason = reason
	return e
}

// WithDetail adds one fact and returns the error.
func (e *Error) WithDetail(key string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[key] = redacted(value)
	return e
}

// FromFindings returns an Error with the findings and the code of Worst, or nil
// if no finding is an error. The message starts with doing.
func FromFindings(doing string, fs []Finding) error {
	code := Worst(fs)
	if code == "" {
		return nil
	}
	n := 0
	var first Finding
	for _, f := range fs {
		if f.Severity == SeverityError {
			if n == 0 {
				first = f
			}
			n++
		}
	}
	msg := doing + ": " + first.String()
	if n > 1 {
		msg += fmt.Sprintf(" (and %d more)", n-1)
	}
	return &Error{Code: code, Message: msg, Findings: fs}
}

// Join returns nil for no error, a single error unchanged, and for several an
// Error with all their findings. An error whose findings are only warnings is
// added as a finding of its own, so that no error is lost.
func Join(doing string, errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	var fs []Finding
	for _, err := range errs {
		fs = append(fs, findingsIn(err)...)
	}
	return FromFindings(doing, fs)
}

// findingsIn returns the findings of an error, or the error as one.
func findingsIn(err error) []Finding {
	var e *Error
	if !errors.As(err, &e) {
		return []Finding{Errorf(UnknownError, 0, 0, "%s", err)}
	}
	if Failed(e.Findings) {
		return e.Findings
	}
	f := Errorf(e.Code, 0, 0, "%s", err)
	f.Reason = e.Reason
	f.Facts = e.Details
	return append([]Finding{f}, e.Findings...)
}

func (e *Error) Error() string {
	return Redact(e.Message)
}
func (e *Error) Unwrap() error {
	return e.Err
}

// CodeOf returns the code of the first *Error in err's chain, or "".
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// FindingsOf returns the findings of the first *Error in err's chain.
func FindingsOf(err error) []Finding {
	var e *Error
	if errors.As(err, &e) {
		return e.Findings
	}
	return nil
}

// Worst returns the code that represents several findings: the first of class
// history, else integrity, trust or drift, else the first error's own. It
// returns "" if no finding is an error.
func Worst(fs []Finding) Code {
	for _, class := range []Class{ClassHistory, ClassIntegrity, ClassTrust, ClassDrift} {
		for _, f := range fs {
			if f.Severity == SeverityError && f.Code.Class() == class {
				return f.Code
			}
		}
	}
	for _, f := range fs {
		if f.Severity == SeverityError {
			return f.Code
		}
	}
	return ""
}

// Position is a position in a text. Line and Column count from 1, Column in bytes.
type Position struct{ Line, Column int }

// Doing returns err with a prefix that names the operation. Code, reason and details
// of a typed error are kept; another error is FILE_SYSTEM_ERROR.
func Doing(doing string, err error) *Error {
	out := New(FileSystemError, "%s: %w", doing, err)
	var e *Error
	if errors.As(err, &e) {
		out.Code, out.Reason, out.Details, out.Retryable = e.Code, e.Reason, maps.Clone(e.Details), e.Retryable
	}
	return out
}
