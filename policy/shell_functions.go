package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// declare records the commands of a function. One of several with the same name may be
// the one that is called.
func (s *shellScan) declare(name string, body []shellCommand) {
	if s.bodies == nil {
		s.bodies = map[string][]shellCommand{}
	}
	s.bodies[name] = append(s.bodies[name], body...)
}

// inFunctions adds the commands of the functions that commands call, which read the same
// input. Functions have the case of their name.
func (s *shellScan) inFunctions(commands []shellCommand) []shellCommand {
	if len(s.bodies) == 0 {
		return commands
	}
	out := slices.Clone(commands)
	seen := map[string]bool{}
	for i := 0; i < len(out); i++ {
		if len(out[i].argv) == 0 {
			continue
		}
		name := out[i].argv[0].text
		if !seen[name] {
			seen[name] = true
			out = append(out, s.bodies[name]...)
		}
	}
	return out
}

// keepsInput reports whether a statement is exec without a program: the commands after it
// have its input.
func (w *shellWalk) keepsInput(stmt *syntax.Stmt) bool {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	exec := false
	for _, word := range call.Args {
		switch text, _ := w.static(word.Parts, false); {
		case text == "exec":
			exec = true
		case text != "command" && text != "builtin" && !strings.HasPrefix(text, "-"):
			return false
		}
	}
	return exec
}
