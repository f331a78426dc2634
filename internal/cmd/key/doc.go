// Package key has the commands for keys of the user: rye key.
//
// It does not store a key itself: internal/keychain does.
package key
