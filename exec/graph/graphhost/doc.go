// Package graphhost runs the graphs of an opened project: it gives the runtime of package graph
// the project's items, calls, questions to persons and accounts, and it has the tool with which
// models handle runs.
//
// It runs no thread: package threadhost does, through Directives.
package graphhost
