//go:build !linux

package main

import "errors"

// landlocked does nothing: Landlock is a part of Linux.
func (b *bench) landlocked(string, string, string) error { return nil }

func refuseNamespaces() error { return errors.ErrUnsupported }
