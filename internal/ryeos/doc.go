// Package ryeos reads projects of the Python original of rye: it lists the files of
// one, rewrites in an item what rye writes differently, and names what replaces the
// modules that tools imported.
//
// A rewrite is made only where it is certain: the metadata that follow are compared with
// those that were meant, and any other difference takes the rewrite back. The package
// checks no signatures, signs nothing and writes no files.
package ryeos
