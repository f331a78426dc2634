// Package trust has the commands that state whom a project or a user trusts: rye trust.
//
// It does not judge signatures.
package trust
