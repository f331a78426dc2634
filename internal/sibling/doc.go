// Package sibling finds the second program of rye, compares its build with the build of this
// program, and starts it in place of this process: rye starts rye-server for the commands that
// only rye-server has.
//
// No environment variable and no configuration names the program, and it is never searched in a
// project. The package does not know which commands the programs have.
package sibling
