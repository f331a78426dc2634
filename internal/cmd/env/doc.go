// Package env makes the environment of a command from its flags: the project that it
// opens, the key that signs, the bundles of a space, the parameters of an item.
//
// It has no command of its own and prints the progress of fetching only.
package env
