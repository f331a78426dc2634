package source

import (
	"context"
	"errors"

	"github.com/ryeos/rye/diag"
)

var errNoAnswer = errors.New("the call for it did not return")

func cancelled(ctx context.Context) error {
	return diag.New(diag.Cancelled, "fetching: %w", context.Cause(ctx))
}

// ErrOffline is wrapped by the error for data that is not in the cache while the
// network may not be used.
var ErrOffline = errors.New("the network may not be used")

// NotCached is the error for data that only the network has.
func NotCached(what string) error {
	return diag.New(diag.SourceNotFound, "looking for %s in the cache: not found, and %w", what, ErrOffline).WithReason("offline")
}
