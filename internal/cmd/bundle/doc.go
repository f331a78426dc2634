// Package bundle has the commands for authors of bundles: rye bundle.
//
// It installs no bundle; package packages does.
package bundle
