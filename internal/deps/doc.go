// Package deps has the dependencies of an opened project: the manager of its bundles, the registries
// that it reads, and the Python packages of its tools.
//
// It resolves no version itself: packages packages and wheels do.
package deps
