// Package items finds, fetches and adopts single items of registries, for agents and for the
// commands that inspect a registry.
//
// It publishes nothing, and it installs no bundle; package packages does.
package items
