// Package tmpl fills in the templates of runtimes and the input references of
// directives.
//
// Every text is scanned once, from left to right, and values are not scanned: a
// value that contains template syntax stays as it is. (The Python version expanded
// "${SECRET}" in a parameter.) The package does not read the environment and does
// not quote; callers that build a shell string use ShellQuote.
package tmpl
