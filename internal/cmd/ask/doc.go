// Package ask asks a person at the terminal: about a call, a thread, a key, a change of
// bundles.
//
// It grants nothing: the caller acts on the answer.
package ask
