// Package revision opens a project as a commit or the index of git contains it, selects the items that
// rye verify reads, and signs the items of an index.
//
// It runs no git command itself: package gitcmd does.
package revision
