// Package stepsource has the sources of steps of the loop that a project can start from: a
// program in Python for each, and in bash for those that need only a few values of their input,
// with the same input and output as the step that rye ships. The tests of threads/steps compare
// them with it over the same vectors.
//
// It runs nothing, and no source has a value of a configuration: a step reads it from its input.
//
// A new step is loaded and validated as every draft, and not run: a run needs a thread.
package stepsource

import (
	"embed"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
)

//go:embed source
var sources embed.FS

// Languages are the languages of sources with the extension of each.
func Languages() map[string]string {
	return map[string]string{"python": ".py", "bash": ".sh"}
}

// Names returns the steps that have a source in a language, sorted.
func Names(lang string) []string {
	entries, _ := sources.ReadDir("source") // it is embedded
	var out []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), Languages()[lang])
		if ok && !e.IsDir() {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Read returns the source of a step in a language, and its extension.
func Read(name, lang string) (text, ext string, err error) {
	ext = Languages()[lang]
	if ext == "" {
		return "", "", diag.New(diag.Usage, "writing the step %s: its source is in python or bash, not in %s", name, lang)
	}
	b, err := sources.ReadFile("source/" + name + ext)
	if err == nil {
		text, err = whole(string(b), ext)
		return text, ext, err
	}
	if lang == "bash" && slices.Contains(Names("python"), name) {
		return "", "", diag.New(diag.Usage, "writing the step %s: it has no source in bash, because it %s; its source is in python", name, needs(name))
	}
	e := diag.New(diag.Usage, "writing a step: there is no source of %q, only of %s", name, strings.Join(Names("python"), ", "))
	if near := suggest.Nearest(name, Names("python")); near != "" {
		e.WithReason("nearest").WithDetail("nearest", near)
	}
	return "", "", e
}

// needs returns the work that a program in bash cannot do well.
func needs(name string) string {
	switch name {
	case "dispatch":
		return "makes several calls at the same time, and the library of rye for bash makes one"
	case "classifier", "run_hooks":
		return "evaluates conditions, templates and regular expressions"
	}
	return "compares and writes parts of a conversation, for which bash has no JSON"
}

// whole returns a source with the parts that it shares with others.
func whole(text, ext string) (string, error) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		part, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "#include ")
		if !ok {
			b.WriteString(line)
			continue
		}
		shared, err := sources.ReadFile(path.Join("source/part", part+ext))
		if err != nil {
			return "", diag.New(diag.Internal, "writing a step: there is no part %q of sources", part)
		}
		if part == "lines" || ext == ".sh" {
			b.Write(shared)
			continue
		}
		b.WriteString("\n\n" + string(shared))
	}
	return b.String(), nil
}
