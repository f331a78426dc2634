package exec

import "context"

type readableKey struct{}

// WithReadable returns a context in which programs may read one more directory: the
// caller made it for the call.
func WithReadable(ctx context.Context, dir string) context.Context {
	return context.WithValue(ctx, readableKey{}, dir)
}

// readable returns the directory of WithReadable as a list.
func readable(ctx context.Context) []string {
	if dir, _ := ctx.Value(readableKey{}).(string); dir != "" {
		return []string{dir}
	}
	return nil
}
