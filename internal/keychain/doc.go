// Package keychain has the keys of a user: it chooses and opens the key that signs,
// installs keys, makes the key that signs logs of runs, and gives grants to the keys of
// others.
//
// It does not know the project, and does not decide which signatures are trusted; package
// trust does.
package keychain
