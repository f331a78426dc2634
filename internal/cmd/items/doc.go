// Package items has the commands for items of the workspace: sign, verify, list, search,
// show, chain, load, new, delta, diff and status.
//
// It does not verify or sign by itself.
package items
