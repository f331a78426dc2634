package source

import (
	"context"
	"errors"

	"github.com/ryeos/rye/diag"
)

var errNoAnswer = errors.New("the question was given up")

func cancelled(ctx context.Context) error {
	return diag.New(diag.Cancelled, "fetching: %w", context.Cause(ctx))
}

// ErrOffline is wrapped by the error for what is not in the cache while the
// network may not be asked.
var ErrOffline = errors.New("the network may not be used")

// NotCached is the error for something that only the network could bring.
func NotCached(what string) error {
	return diag.New(diag.SourceNotFound, "looking for %s in the cache: it is not there, and %w", what, ErrOffline).
		WithHint("run it once without --offline")
}
