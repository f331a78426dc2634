// Package packages has the commands for bundles that a project uses: add, remove, lock,
// sync, update, tree, why, audit, cache and others.
//
// It does not select versions or fetch by itself.
package packages
