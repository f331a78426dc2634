// Package self is the program as a process: its streams, signals and memory, the hidden commands
// that start it for a part of its own work, and its version. rye and rye-server share it.
//
// It does not know the commands that people type.
package self
