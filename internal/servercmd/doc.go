// Package servercmd is the program rye-server: its table of commands, and the comparison with the
// rye that started it.
package servercmd
