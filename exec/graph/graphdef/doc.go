// Package graphdef has the definition of a state graph: it parses the item, checks it against the items
// that its nodes call, and draws it.
//
// It runs nothing: package graph does.
package graphdef
