// Package archtest has the rules for the source code as tests: which package
// may import which, which package may use a third-party module, which modules
// the program links, what a package doc states, and which words texts use.
//
// It has no code of its own and no package imports it. The tables of
// docs/dev/layout.md are generated from its tables and from the package docs.
package archtest

//go:generate env RYE_UPDATE_GOLDEN=1 go test -count=1 -run ^Test(LayoutPage|Limits|Density|Words|Order)$ .
