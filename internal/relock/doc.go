// Package relock keeps rye.lock in step with the items of a project: it records items that were signed
// or removed, and refuses new entries that an expired key signed.
//
// It chooses no version of a bundle: package packages does.
package relock
