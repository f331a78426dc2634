// Package verify has the commands that report on the items of the workspace as a whole: verify and
// status.
//
// It does not verify by itself: packages verify and status do.
package verify
