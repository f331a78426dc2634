package source

import (
	"context"
	"errors"

	"github.com/ryeos/rye/diag"
)

// ErrNoBundle is wrapped by the error for a commit or directory without a bundle. It has no
// text of its own.
var ErrNoBundle = errors.New("")

func cancelled(ctx context.Context) error {
	return diag.New(diag.Cancelled, "fetching: %w", context.Cause(ctx))
}

// ErrTooLong is wrapped by the error for a remote that used up its time. Retry does not
// repeat the call: a slow remote would take the time again.
var ErrTooLong = errors.New("it took too long")

// ErrOffline is wrapped by the error for data that is not in the cache while the
// network may not be used.
var ErrOffline = errors.New("the network may not be used")

// NotCached is the error for data that only the network has.
func NotCached(what string) error {
	return diag.New(diag.SourceNotFound, "looking for %s in the cache: not found, and %w", what, ErrOffline).WithReason("offline")
}
