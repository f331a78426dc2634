// Package items has the commands that read single items of the workspace: list, search, show, chain,
// load, delta and diff.
//
// It does not verify or sign by itself.
package items
