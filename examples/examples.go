// Package examples contains the graphs that the documentation and rye tour show.
//
// It reads and runs nothing.
package examples

import "embed"

// Graphs are the files of the example graphs, below graphs/.
//
//go:embed graphs/*.yaml
var Graphs embed.FS
