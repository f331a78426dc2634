// Package sign turns bytes into signed bytes and back: it splits a file into
// its signature line and its body, builds the statement that is signed, signs
// and verifies, and reads and writes the key files that do it.
//
// It does not decide whether a signature is trusted: which keys are trusted, for
// which kinds and ids, and until when, is decided by package trust. It opens only
// key files, the files that the environment names, and the agent's socket.
package sign
