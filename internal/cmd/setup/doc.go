// Package setup has the commands that prepare an account and a project: rye setup and
// rye init.
//
// It does the work of other commands in order and has no logic of their parts.
package setup
