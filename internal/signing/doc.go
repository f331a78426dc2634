// Package signing signs items and settings of a project: files that rye writes, the settings that
// a person changes, and everything that a key signed before it was rotated.
//
// It keeps no key: package keychain does.
package signing
