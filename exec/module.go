package exec

import (
	"regexp"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve"
)

// missingModules are the messages of interpreters that did not find a module. The
// group is the module's name.
var missingModules = map[string]string{
	"python_module": `(?m)^ModuleNotFoundError: No module named '([A-Za-z0-9_.-]{1,100})'`,
	"node_module":   `(?m)^Error(?: \[ERR_MODULE_NOT_FOUND\])?: Cannot find (?:module|package) '([@A-Za-z0-9_./-]{1,100})'`,
}

// nameModule gives the error of a program that did not find a module the reason
// whose hint names the ways to provide one. For a file next to the tool the hint names
// no package: one of that name in a public index would be another program.
func nameModule(err *diag.Error, stderr string, tool *resolve.Item) {
	for reason, pattern := range missingModules {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(stderr); m != nil {
			first, _, _ := strings.Cut(m[1], ".")
			if reason == "python_module" && adjacent(tool, first) {
				reason = "python_adjacent"
			} else if use := ofOriginal(imported(tool, m[1])); reason == "python_module" && use != "" {
				reason = "original_module"
				err.WithDetail("use", use)
			}
			err.WithReason(reason).WithDetail("module", m[1])
		}
	}
}

// originalModules are the modules of the Python original that tools imported, and what
// replaces each. docs/migrating-from-python.md has the same table.
func originalModules() [][2]string {
	return [][2]string{
		{"rye.constants", "the path .ai below the project's path, which the tool gets as a parameter"},
		{"rye.utils.path_utils", "tool:rye/core/system/system with item=paths"},
		{"rye.utils.integrity", "rye verify"},
		{"rye.utils.metadata_manager", "rye sign"},
		{"rye.tools", "the rye command, for example rye run tool ID --json"},
		{"lilux.primitives.signing", "rye sign and rye verify"},
		{"lilux.primitives", "subprocess or urllib.request of Python, or executor_id rye/core/primitives/http_client"},
		{"lilux.runtime", "env_config of the tool"},
		{"rye", "the rye command"},
		{"lilux", "the rye command"},
	}
}

// imported returns the module of a package that a tool imports first, or the package:
// Python names the package only if all of it is missing.
func imported(tool *resolve.Item, name string) string {
	pattern := `(?m)^[ \t]*(?:from|import)[ \t]+(` + regexp.QuoteMeta(name) + `(?:\.[A-Za-z0-9_]+)*)(?:[ \t]+import[ \t]+([A-Za-z0-9_]+))?`
	m := regexp.MustCompile(pattern).FindSubmatch(tool.Bytes)
	switch {
	case m == nil:
		return name
	case len(m[2]) > 0:
		return string(m[1]) + "." + string(m[2])
	}
	return string(m[1])
}

// ofOriginal returns what replaces a module of the Python original, "" for any other
// module.
func ofOriginal(module string) string {
	for _, m := range originalModules() {
		if module == m[0] || strings.HasPrefix(module, m[0]+".") {
			return m[1]
		}
	}
	return ""
}
