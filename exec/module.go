package exec

import (
	"regexp"

	"github.com/ryeos/rye/diag"
)

// missingModules are the messages of interpreters that did not find a module. The
// group is the module's name.
var missingModules = map[string]string{
	"python_module": `(?m)^ModuleNotFoundError: No module named '([A-Za-z0-9_.-]{1,100})'`,
	"node_module":   `(?m)^Error(?: \[ERR_MODULE_NOT_FOUND\])?: Cannot find (?:module|package) '([@A-Za-z0-9_./-]{1,100})'`,
}

// nameModule gives the error of a program that did not find a module the reason
// whose hint names the ways to provide one.
func nameModule(err *diag.Error, stderr string) {
	for reason, pattern := range missingModules {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(stderr); m != nil {
			err.WithReason(reason).WithDetail("module", m[1])
		}
	}
}
