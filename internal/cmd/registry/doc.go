// Package registry has the commands for registries of bundles: rye registry.
//
// It serves no registry; the commands of rye-server do.
package registry
