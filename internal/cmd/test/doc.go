// Package test has the command rye test: it replays test files, records them, and
// compares models.
//
// It does not judge the results itself.
package test
