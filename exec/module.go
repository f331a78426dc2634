package exec

import (
	"regexp"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/ryeos"
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
			} else if use := ryeos.Replacement(imported(tool, m[1])); reason == "python_module" && use != "" {
				reason = "original_module"
				err.WithDetail("use", use)
			} else if m[1] == brokerModule && !statesBroker(tool) {
				reason = "broker_module"
			}
			err.WithReason(reason).WithDetail("module", m[1])
		}
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
