// Package archtest has the rules for the source code as tests: which package
// may import which, which package may use a third-party module, which modules
// the program links, what a package doc states, and which words texts use.
//
// It has no code of its own and no package imports it. docs/layout.md is the
// picture of its tables.
package archtest
