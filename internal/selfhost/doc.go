// Package selfhost tests that a project can replace every item of the system
// bundle except the sealed ones, and that a broken replacement is an error, not a
// fallback to the system's item.
//
// It has no code of its own and no package imports it.
package selfhost
