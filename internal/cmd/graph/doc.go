// Package graph has the commands for state graphs: rye graph.
//
// It does not walk a graph: exec/graph does.
package graph
