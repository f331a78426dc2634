// Package runsoutside returns the paths of a project that can make another program run code
// outside of the sandbox: what git runs or reads commands from by its configuration, and the
// files of editors, agents and other programs, which are data (programs.txt).
//
// It decides nothing about tools. The sandbox, the file tools, sinks of HTTP tools, graphs and
// working copies ask it.
package runsoutside
