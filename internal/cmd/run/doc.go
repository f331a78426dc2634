// Package run runs an item for a person: rye run, rye spawn, and the process of a thread
// that spawn starts.
//
// It does not resolve, verify or confine the item: internal/project does.
package run
