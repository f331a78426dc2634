// Package view prints results that several commands have in common: changes of bundles,
// releases, chains, signed files, calls and their results.
//
// It decides nothing and asks nothing.
package view
