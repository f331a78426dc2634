// Package watch runs or continues threads and graphs for a person: it finds them, shows
// what they do, and asks what they ask.
//
// It has no command of its own and decides nothing about permissions.
package watch
