// Package yamlx reads YAML strictly and writes it deterministically: one
// document, plain keys, no anchors, tags or merges, every value with its place.
//
// It is the only room that imports a YAML module. It knows no item, no schema
// and no signature; it never opens a file.
package yamlx
