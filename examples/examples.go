// Package examples contains the graphs that the documentation and rye tour show.
//
// It reads and runs nothing.
package examples

import "embed"

// Graphs are the files of the example graphs and of the tool that one of them calls, below graphs/.
//
//go:embed graphs/*.yaml graphs/*.sh
var Graphs embed.FS
