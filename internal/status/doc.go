// Package status has what rye verify and rye status report about a project: the comparison
// of its items with its lock, of its lock with an earlier commit, and the state of its keys.
//
// It reports problems and fixes none.
package status
