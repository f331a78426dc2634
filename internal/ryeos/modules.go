package ryeos

import (
	"regexp"
	"strings"
	"sync"
)

// Module is a module of the Python original that tools imported.
type Module struct {
	Name string
	Use  string // what replaces it
}

// Modules returns the modules of the original. A module that contains a second one is
// after it.
func Modules() []Module {
	return []Module{
		{"rye.constants", "the path `.ai` below the project's path, which the tool gets as a parameter"},
		{"rye.utils.path_utils", "`tool:rye/core/system/system` with `item=paths`"},
		{"rye.utils.integrity", "`rye verify`"},
		{"rye.utils.metadata_manager", "`rye sign`"},
		{"rye.tools", "the `rye` command, for example `rye run tool ID --json`"},
		{"lilux.primitives.signing", "`rye sign` and `rye verify`"},
		{"lilux.primitives", "`subprocess` or `urllib.request` of Python, or `executor_id: rye/core/primitives/http_client`"},
		{"lilux.runtime", "`env_config` of the tool"},
		{"rye", "the `rye` command"},
		{"lilux", "the `rye` command"},
	}
}

// Replacement returns the replacement of a module of the original, "" for any other module.
func Replacement(module string) string {
	for _, m := range Modules() {
		if module == m.Name || strings.HasPrefix(module, m.Name+".") {
			return m.Use
		}
	}
	return ""
}

// Import is one import of a module of the original.
type Import struct {
	Line   int
	Module string
	Use    string
}

var importLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[ \t]*(?:from|import)[ \t]+([A-Za-z_][A-Za-z0-9_.]*)(?:[ \t]+import[ \t]+([A-Za-z0-9_]+))?`)
})

// Imports returns the imports of modules of the original in Python code, each module
// once.
func Imports(src []byte) []Import {
	var out []Import
	seen := map[string]bool{}
	number := 0
	for line := range strings.Lines(string(src)) {
		number++
		m := importLine().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := m[1]
		if m[2] != "" {
			name += "." + m[2]
		}
		if use := Replacement(name); use != "" && !seen[use] {
			seen[use] = true
			out = append(out, Import{number, m[1], use})
		}
	}
	return out
}
