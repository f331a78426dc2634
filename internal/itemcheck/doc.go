// Package itemcheck checks items by the code that uses them: graphs, permissions of directives
// and everything that package draft checks.
//
// It changes nothing and judges no signature.
package itemcheck
