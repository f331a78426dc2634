// Package judge judges a bundle for a registry: by the rules of rye verify, with the keys of
// the namespace as the only trusted ones. The server and the dry run of a push use it.
//
// It reads no project and no file of the user.
package judge
