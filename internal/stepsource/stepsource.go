// Package stepsource has the sources of steps of the loop that a project can start from: a
// Python program for each, with the same input and output as the step that rye ships. The
// tests of threads/steps compare them with it over the same vectors.
//
// It runs nothing. The programs have the values of the configurations that rye ships: one
// that a project changed is to be changed in the program, too.
package stepsource

import (
	"embed"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
)

//go:embed source/*.py
var sources embed.FS

// Ext is the extension of the sources.
const Ext = ".py"

// Names returns the steps that have a source, sorted.
func Names() []string {
	entries, _ := sources.ReadDir("source") // it is embedded
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), Ext))
	}
	slices.Sort(out)
	return out
}

// Read returns the source of a step.
func Read(name string) (string, error) {
	b, err := sources.ReadFile("source/" + name + Ext)
	if err == nil {
		return string(b), nil
	}
	e := diag.New(diag.Usage, "writing a step: there is no source of %q, only of %s", name, strings.Join(Names(), ", "))
	if near := suggest.Nearest(name, Names()); near != "" {
		e.WithReason("nearest").WithDetail("nearest", near)
	}
	return "", e
}
