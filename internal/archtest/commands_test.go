package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// commandDir has a package for each noun of the command line, and those that they share.
const commandDir = "internal/cmd/"

// sharedCommands are the packages of commandDir that are not a noun. Each may import the
// earlier ones.
func sharedCommands() []string {
	return []string{"templates", "self", "view", "env", "ask", "complete", "watch"}
}

// composed maps a noun that does the work of others to them.
func composed() map[string][]string {
	return map[string][]string{"setup": {"hook", "key", "provider", "serve"}}
}

// commandProblem returns why a package may not import a package of commandDir, "" if it may.
func commandProblem(path, other string) string {
	target, isCommand := strings.CutPrefix(other, commandDir)
	if !isCommand {
		return ""
	}
	from, inside := strings.CutPrefix(path, commandDir)
	if !inside {
		if strings.HasPrefix(path, "cmd/") || strings.HasPrefix(path, "internal/servercmd") {
			return ""
		}
		return fmt.Sprintf("%s may not import %s: only programs and commands do", path, other)
	}
	shared := sharedCommands()
	targetAt := slices.Index(shared, target)
	fromAt := slices.Index(shared, from)
	switch {
	case targetAt < 0 && fromAt >= 0:
		return fmt.Sprintf("%s may not import %s: a noun imports what is shared, not the other way", path, other)
	case targetAt < 0 && !slices.Contains(composed()[from], target):
		return fmt.Sprintf("%s may not import %s: a noun imports no other noun; move what both need to a shared package", path, other)
	case fromAt >= 0 && targetAt >= fromAt:
		return fmt.Sprintf("%s may not import %s: it is above it in sharedCommands", path, other)
	}
	return ""
}

func TestCommandsImportNoOtherCommand(t *testing.T) {
	found := map[string]bool{}
	for _, p := range packages(t, "linux") {
		path := p.path()
		from, inside := strings.CutPrefix(path, commandDir)
		if inside {
			found[from] = true
		}
		for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			other, own := strings.CutPrefix(imp, module+"/")
			if !own || other == path {
				continue
			}
			if problem := commandProblem(path, other); problem != "" {
				t.Error(problem)
			}
		}
	}
	for _, name := range sharedCommands() {
		if !found[name] {
			t.Errorf("sharedCommands names %s, which does not exist below %s", name, commandDir)
		}
	}
}

// TestCommandFaults checks that each sort of import is judged.
func TestCommandFaults(t *testing.T) {
	for _, tc := range []struct{ path, other, want string }{
		{"internal/cmd/run", "internal/cmd/env", ""},
		{"internal/cmd/run", "internal/cli", ""},
		{"internal/cmd/run", "internal/cmd/graph", "no other noun"},
		{"internal/cmd/setup", "internal/cmd/hook", ""},
		{"internal/cmd/setup", "internal/cmd/run", "no other noun"},
		{"internal/cmd/hook", "internal/cmd/setup", "no other noun"},
		{"internal/cmd/env", "internal/cmd/run", "not the other way"},
		{"internal/cmd/env", "internal/cmd/view", ""},
		{"internal/cmd/view", "internal/cmd/env", "above"},
		{"cmd/rye", "internal/cmd/run", ""},
		{"internal/project", "internal/cmd/env", "only programs"},
	} {
		got := commandProblem(tc.path, tc.other)
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s imports %s: %q, want %q", tc.path, tc.other, got, tc.want)
		}
	}
}
