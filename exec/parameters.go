package exec

import (
	"errors"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/item"
)

// badParameters is an error of the caller's parameters.
type badParameters struct{ error }

func (e badParameters) Unwrap() error {
	return e.error
}

// BadParameters marks an error as one of the caller's parameters: nothing was
// started, and other parameters may succeed.
func BadParameters(err error) error {
	if err == nil {
		return nil
	}
	return badParameters{err}
}

// IsBadParameters reports whether an error is marked by BadParameters.
func IsBadParameters(err error) bool {
	var bad badParameters
	return errors.As(err, &bad)
}

// Violated returns the violations of the schema of a caller's parameters as one error,
// marked by BadParameters; nil without any.
func Violated(doing string, ref item.Ref, violations []schema.Violation) error {
	var fs []diag.Finding
	missing := false
	for _, v := range violations {
		fs = append(fs, diag.Errorf(
			diag.ValidationFailed,
			0,
			0,
			"%s %s",
			v.Path,
			v.Message,
		))
		missing = missing || v.Keyword == "required" && v.Path == "$"
	}
	err := diag.FromFindings(doing+" "+ref.String(), fs)
	e := (*diag.Error)(nil)
	if missing && errors.As(err, &e) {
		err = e.WithReason("missing_parameter").WithDetail("ref", ref.String())
	}
	return BadParameters(err)
}
