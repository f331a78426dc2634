// Package cli is the command line as such: arguments, the table of commands,
// output, help, exit statuses and the hints for people.
//
// It opens no project and does not know what a command does.
package cli
