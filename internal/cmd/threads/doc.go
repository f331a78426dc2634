// Package threads has the commands for threads: rye threads, rye approve and rye deny.
//
// It starts no thread; package run does.
package threads
