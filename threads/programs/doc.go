// Package programs runs models that are programs on this machine: it starts the program of a
// provider item in a sandbox, and serves it the tools of the thread.
//
// It keeps no account: the kernel of the thread reserves and records each call.
package programs
