// Package testrun is rye test: it records threads as tests, repeats recorded threads without a
// model, and runs their directives with other models.
package testrun
