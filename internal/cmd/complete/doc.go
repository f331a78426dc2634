// Package complete returns the words that complete a command line: items, kinds,
// parameters, keys, threads and runs.
//
// It verifies no item and returns no error: without a project there are no words.
package complete
