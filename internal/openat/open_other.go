//go:build !linux && !darwin

package openat

func openBackend(root string) (backend, error) { return openRoot(root) }
