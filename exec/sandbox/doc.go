// Package sandbox enforces the profile of a program: what it may read, write, start
// and reach, and how much it may use.
//
// It does not decide which profile a program gets, and knows no items.
package sandbox
