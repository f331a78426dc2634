//go:build !linux

package sandbox

import "context"

// Warm is a helper that was started before it is known what it confines. This system has
// none.
type Warm struct{}

// Prestart returns nil.
func Prestart(context.Context, string, func() Ladder) *Warm { return nil }

// Drop does nothing.
func (w *Warm) Drop() {}
