// Package explain states what a thread of a directive would use: its items, models, limits, permissions
// and tools.
//
// It starts nothing: package threadhost does.
package explain
