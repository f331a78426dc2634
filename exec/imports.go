package exec

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/pylit"
	"github.com/ryeos/rye/resolve"
)

// The values of env_config.interpreter.project.
const (
	projectAuto   = "auto"   // the project's interpreter if the code imports what the runtime does not list
	projectAlways = "always" // the project's interpreter if it exists
	projectNever  = "never"
)

// needsProject reports whether a tool runs with the interpreter that the project has,
// and which modules are the reason. Not more than comfort depends on the answer: the
// fallback is a program of the machine, and the project's interpreter needs consent.
func (e *Executor) needsProject(
	ctx context.Context,
	c *Chain,
	ic *interpreterConfig,
) (modules []string, needs bool) {
	switch {
	case ic.project == projectNever:
		return nil, false
	case ic.project == projectAlways || ic.fallback == "" || len(ic.stdlib) == 0:
		return nil, true
	}
	modules = slices.DeleteFunc(e.imports(ctx, c), func(name string) bool {
		return slices.Contains(ic.stdlib, name)
	})
	return modules, len(modules) > 0
}

// imports returns the top-level names that the code of a run imports and does not
// have itself. The code is the tool, its anchor and the library of its runtime.
func (e *Executor) imports(ctx context.Context, c *Chain) []string {
	members := map[string]bool{}
	sources := []*resolve.Item{c.Tool()}
	// An error here is reported by the run, which reads the same files.
	set, err := e.anchored(ctx, c)
	if err == nil && set != nil {
		sources = append(sources, set.with...)
		for _, it := range sources {
			for part := range strings.SplitSeq(strings.TrimPrefix(it.Rel, set.base+"/"), "/") {
				members[strings.TrimSuffix(part, path.Ext(part))] = true
			}
		}
	}
	if cfg, err := mergeConfig(c); err == nil {
		lib, _ := e.libFiles(ctx, cfg)
		sources = append(sources, lib...)
		for _, it := range lib {
			if c.asksForBroker() { // its program finds them
				members[strings.TrimSuffix(path.Base(it.Rel), path.Ext(it.Rel))] = true
			}
		}
	}
	var out []string
	for _, it := range sources {
		if it.Type.Codec != extract.CodecPython {
			continue
		}
		for _, name := range pylit.Imports(it.Bytes) {
			if !members[name] && !adjacent(it, name) {
				out = append(out, name)
			}
		}
	}
	slices.SortFunc(out, cmp.Compare)
	return slices.Compact(out)
}

// adjacent reports whether a module is a file or directory next to the file that
// imports it. No interpreter finds it elsewhere, and if the directory has no marker,
// the hint for the missing module states what to do.
func adjacent(it *resolve.Item, name string) bool {
	at := path.Join(path.Dir(it.Rel), name)
	return it.Root.Exists(at+".py") || it.Root.Exists(path.Join(at, "__init__.py"))
}
