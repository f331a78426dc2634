package resolve

import (
	"context"
	"maps"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// subprocess is the primitive whose config has templates of a command.
const subprocess = "rye/core/primitives/subprocess"

// Lint returns findings about the content of an item that a run does not need or
// reports itself: templates, the parameter schema, the sandbox, what it extends,
// and the keys of a configuration. sign and verify report them. In an
// installed bundle, whose files the user cannot change, they are warnings.
func (r *Resolver) Lint(ctx context.Context, it *Item) []diag.Finding {
	return r.LintFor(ctx, it, it.Verdict.Signer)
}

// LintFor is Lint for an item that the key signer is about to sign.
func (r *Resolver) LintFor(ctx context.Context, it *Item, signer sign.Fingerprint) []diag.Finding {
	if it.Skipped {
		return nil
	}
	fs := it.Templates()
	more := slices.Concat(
		it.schemas(),
		r.sandbox(ctx, it),
		it.risk(),
		it.unenforced(),
		it.parallel(),
		it.nested(),
		it.script(),
		it.applies(),
		r.bases(ctx, it),
		r.extends(ctx, it),
		r.settings(ctx, it),
		r.hookRules(ctx, it),
		r.permits(ctx, it, signer),
		r.reader(ctx, it),
	)
	if r.p.Check != nil && !it.Support() {
		more = append(more, r.p.Check(ctx, r, it)...)
	}
	if it.Root.ReadOnly() {
		for i := range more {
			more[i].Severity = diag.SeverityWarning
		}
	}
	return append(fs, diag.WithPath(more, it.Path())...)
}

// Templates returns findings about the templates of a tool: errors for those that
// no run can fill in, warnings for text that looks like a template and is not one.
// Usable ignores them: a run reports the errors itself, in the elements it uses.
func (it *Item) Templates() []diag.Finding {
	if it.Ref.Kind != item.Tool || it.Support() {
		return nil
	}
	l := templateLint{it: it, r: tree.NewReader(
		&tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos},
		diag.ConfigError,
	)}
	env := l.r.Map("env_config")
	l.texts(env, "env", tmpl.LintEnv)
	if it.RunsCommand() {
		config := l.r.Map("config")
		for _, key := range []string{"command", "cwd"} {
			l.add(config, key, tmpl.Lint(config.Text(key)))
		}
		l.add(config, "input_data", tmpl.LintInput(config.Text("input_data")))
		for _, arg := range config.Texts("args", nil) {
			l.add(config, "args", tmpl.LintArg(arg))
		}
		l.texts(config, "env", tmpl.LintEnv)
	}
	return diag.WithPath(l.out, it.Path())
}

// RunsCommand reports whether the config of a tool is a command with templates. The config
// of a tool with a runtime is data of its own.
func (it *Item) RunsCommand() bool {
	executor, err := item.ParseRef(it.Meta.ExecutorID, item.Tool)
	return it.Meta.ToolType == "runtime" || err == nil && executor.ID == subprocess
}

type templateLint struct {
	it  *Item
	r   *tree.Reader
	out []diag.Finding
}

func (l *templateLint) texts(
	r *tree.Reader,
	key string,
	lint func(string) []diag.Finding,
) {
	m := r.TextMap(key)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		l.add(r, key, lint(m[name]))
	}
}

// add adds findings with the name and the position of a key.
func (l *templateLint) add(r *tree.Reader, key string, fs []diag.Finding) {
	pos := l.it.Meta.Pos[r.Path(key)]
	for _, f := range fs {
		f.Line = pos.Line
		f.Column = pos.Column
		f.Message = r.Name(key) + ": " + f.Message
		l.out = append(l.out, f)
	}
}
