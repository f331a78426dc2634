// Package vtmode has the consoles of Windows interpret escape sequences, and restores their modes.
// Terminals of other systems always interpret them.
//
// It writes no escape sequences, and it does not change how keys are read: package termkeys does.
package vtmode

import "io"

// Enable has the consoles among the streams interpret escape sequences until restore is called. known
// is false if one of them cannot: it prints them as characters.
func Enable(streams ...any) (restore func(), known bool) {
	return enable(streams)
}

// Writer returns a writer to a stream that switches the mode on again before each write: it is a mode of
// the console, and another program in it may have changed it.
func Writer(stream io.Writer) io.Writer {
	return writer(stream)
}
