// Package tour has the command rye tour, which shows the program by commands in a new
// directory.
//
// It does not touch files of the user.
package tour
