// Package tmpl fills in the templates of runtimes and the input references of
// directives.
//
// Every text is scanned once, from left to right, and what is filled in is
// never looked at again: a value that contains template syntax stays as it is
// (the original expanded "${SECRET}" out of a parameter). Nothing here reads
// the environment or quotes on its own; ShellQuote is for callers who build a
// shell string.
package tmpl
