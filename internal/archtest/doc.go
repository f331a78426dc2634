// Package archtest holds the rules of the house as tests: who may import whom,
// which room a third-party module lives in, which modules the program links,
// what a package doc says, and that decisions stand in items rather than in Go.
//
// It has no code of its own and nobody imports it. docs/layout.md is the
// picture of its tables: change both in one commit.
package archtest
