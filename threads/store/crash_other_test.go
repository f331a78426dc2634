//go:build !linux

package store

func traceRoles(string) map[string]func() error { return nil }
