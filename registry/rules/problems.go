package rules

import (
	"errors"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
)

// Problems collects the errors of a request, so that all of them are reported at once.
type Problems struct {
	list []diag.Finding
	fail error // of this machine
}

func (p *Problems) Add(err error) {
	if err == nil {
		return
	}
	e := diag.Typed(err)
	switch {
	case e.Code.Class() == diag.ClassMachine || e.Code.Class() == diag.ClassBug || e.Code == diag.RegistryError:
		p.fail = errors.Join(p.fail, err)
	case len(e.Findings) > 0:
		p.list = append(p.list, e.Findings...)
	default:
		p.list = append(p.list, diag.Finding{
			Severity: diag.SeverityError,
			Code:     e.Code,
			Message:  e.Error(),
			Reason:   e.Reason,
		})
	}
}

// Err returns one error with every problem. It has the code of the request itself if that
// is refused, else the code of the content.
func (p *Problems) Err(doing string) error {
	if p.fail != nil {
		return Unavailable(doing, p.fail)
	}
	p.list = slices.DeleteFunc(p.list, func(f diag.Finding) bool {
		return f.Severity != diag.SeverityError
	})
	if len(p.list) == 0 {
		return nil
	}
	code := diag.ValidationFailed
	for _, c := range []diag.Code{diag.LimitExceeded, diag.AuthFailed} {
		if slices.ContainsFunc(p.list, func(f diag.Finding) bool { return f.Code == c }) {
			code = c
		}
	}
	first := p.list[0].Message
	if path := p.list[0].Path; path != "" {
		first = hidden.Visible(path) + ": " + first
	}
	e := diag.New(code, "%s: %s", doing, first)
	if len(p.list) > 1 {
		e = diag.New(code, "%s: %d problems", doing, len(p.list))
	}
	e.Findings = p.list
	return e
}

// Unavailable returns the error of a failure of this machine, such as a full disk.
func Unavailable(doing string, err error) error {
	e := diag.New(diag.RegistryError, "%s: %w", doing, err)
	e.Retryable = true
	return e
}
