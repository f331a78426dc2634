package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ryeos/rye/diag"
)

// maxParallel is how many bundles are judged, read or written at the same time.
const maxParallel = 8

// each calls fn for every index below n, at most maxParallel at the same time,
// and returns one error per index, nil where fn succeeded. A failure does not
// stop the others: one call reports every problem.
func each(ctx context.Context, n int, fn func(i int) error) []error {
	errs := make([]error, n)
	var g errgroup.Group
	g.SetLimit(maxParallel)
	for i := range n {
		g.Go(func() error {
			if ctx.Err() != nil {
				errs[i] = diag.New(diag.Cancelled, "working on bundles: %w", context.Cause(ctx))
				return nil
			}
			errs[i] = fn(i)
			return nil
		})
	}
	_ = g.Wait()
	return errs
}

// joinErrors is diag.Join without the nil errors. If several remain, expected
// and found values move into the messages, because findings are shown without
// their facts.
func joinErrors(doing string, errs []error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs) > 1 {
		for i, err := range errs {
			var e *diag.Error
			if errors.As(err, &e) &&
				len(e.Findings) == 0 &&
				e.Details["expected"] != nil {
				full := *e
				full.Message += fmt.Sprintf(": expected %v, found %v", e.Details["expected"], e.Details["found"])
				errs[i] = &full
			}
		}
	}
	return diag.Join(doing, errs)
}
