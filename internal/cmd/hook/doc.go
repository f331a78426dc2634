// Package hook has the command rye hook: it installs hooks of git and is what they run.
//
// It does not sign or verify by itself.
package hook
