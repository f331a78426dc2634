// Package importing copies items from other programs into a project, and writes skills for
// them: projects of the Python original, and the files that package interop converts.
//
// It signs nothing: a person reviews and signs imported items.
package importing
