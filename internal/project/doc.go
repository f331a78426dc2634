// Package project opens a project: its spaces, lock, trust, resolver, executor
// and verbs, as one value that commands, servers and hooks share.
//
// It renders nothing, reads no command line and asks the user only through the
// functions of Env.Person.
package project
