// Package tree has the threads that threads start: it starts a thread in a process of its own,
// waits for its result, relays its questions to a person, finds it again after a crash, and
// steers it.
//
// It runs no turn of a model: the process of each thread does.
package tree
