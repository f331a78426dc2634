package exec

import "errors"

// badParameters is an error of the caller's parameters.
type badParameters struct{ error }

func (e badParameters) Unwrap() error { return e.error }

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
