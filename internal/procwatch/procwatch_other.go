//go:build !linux

package procwatch

import "errors"

type system struct{}

// Dir is not supported on this system.
func (w *Watch) Dir(string, string) error { return errors.ErrUnsupported }

// Changes is not supported on this system.
func (w *Watch) Changes(string) error { return errors.ErrUnsupported }

// Closed is not supported on this system.
func (w *Watch) Closed(string) error { return errors.ErrUnsupported }

// Written is not supported on this system.
func (w *Watch) Written(string) error { return errors.ErrUnsupported }

// Process is not supported on this system.
func (w *Watch) Process(int) error { return errors.ErrUnsupported }

// Close does nothing.
func (w *Watch) Close() error { return nil }
