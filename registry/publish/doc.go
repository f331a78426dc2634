// Package publish packs the bundles of a project, prepares and pushes them to registries,
// and sends signed statements about namespaces and releases.
//
// It installs nothing, and does not decide what a registry accepts; the registry does.
package publish
