// Package servercmd is the program rye-server: its table of commands, and the comparison with the
// rye that started it.
//
// It does not serve anything itself, and no package of rye may import it.
package servercmd
