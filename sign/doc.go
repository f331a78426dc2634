// Package sign turns bytes into signed bytes and back: it splits a file into
// its signature line and its body, builds the statement that is signed, signs
// and verifies, and reads and writes the key files that do it.
//
// It knows what a signature says, never whether that counts: which keys are
// trusted, for which kinds and ids, and until when is decided by package
// trust. Apart from key files, the files named by the environment and the
// agent's socket it opens nothing.
package sign
