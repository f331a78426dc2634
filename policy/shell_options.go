package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// optionUse is a value at the beginning of an argument: it is an option of the program if it
// begins with -.
type optionUse struct {
	value   int
	program string
}

// shellOptions returns the values in a text of ShellValues with which an argument of a program
// begins, directly or by a variable. It leaves out arguments after --, an argument after an
// option, because it can be the option's value, and the arguments of programs that print them
// or evaluate tests.
func (k *Risk) shellOptions(parts []string) (out []optionUse) {
	if len(parts) < 2 || k == nil {
		return nil
	}
	v := &shellValues{parts: parts, mark: "ryevalue", table: &shellTable{}}
	if all, err := k.whole(); err == nil { // else more values are refused
		v.table = &all.table
	}
	for whole := strings.Join(parts, ""); strings.Contains(whole, v.mark); {
		v.mark += "x"
	}
	file := parseShell(v.text(func(i int) string {
		return "'" + v.name(i) + "'"
	}))
	if file == nil {
		return nil // ShellValues refuses it
	}
	variables := map[string][]int{}
	syntax.Walk(file, func(n syntax.Node) bool {
		a, ok := n.(*syntax.Assign)
		if ok && a.Name != nil && a.Value != nil && a.Index == nil {
			if i, ok := v.leading(a.Value.Parts); ok {
				variables[a.Name.Value] = append(variables[a.Name.Value], i)
			}
		}
		return true
	})
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			out = append(out, v.options(call, variables)...)
		}
		return true
	})
	return out
}

// leading returns the value with which a word begins.
func (v *shellValues) leading(parts []syntax.WordPart) (int, bool) {
	if len(parts) == 0 {
		return 0, false
	}
	q, ok := parts[0].(*syntax.SglQuoted)
	if !ok {
		return 0, false
	}
	return v.value(q.Value)
}

// options returns the values with which arguments of a command begin.
func (v *shellValues) options(call *syntax.CallExpr, variables map[string][]int) (out []optionUse) {
	if len(call.Args) == 0 {
		return nil
	}
	name := call.Args[0].Lit()
	name = name[strings.LastIndexByte(name, '/')+1:]
	if v.table.has(name, func(p *program) bool {
		return p.prints ||
			p.syntax == "evaluates"
	}) {
		return nil
	}
	starts := v.table.has(name, func(p *program) bool { return p.starts })
	for i, arg := range call.Args[1:] {
		if arg.Lit() == "--" && !starts { // sudo -- make VALUE: this -- ends the options of sudo only
			return out
		}
		before := call.Args[i].Lit()
		if i > 0 && strings.HasPrefix(before, "-") {
			continue // it can be the value of this option
		}
		if value, ok := v.leading(arg.Parts); ok {
			out = append(out, optionUse{value, name})
			continue
		}
		parts := arg.Parts
		if len(parts) > 0 {
			if q, ok := parts[0].(*syntax.DblQuoted); ok {
				parts = q.Parts
			}
		}
		if len(parts) == 0 {
			continue
		}
		p, ok := parts[0].(*syntax.ParamExp)
		if ok && isPlain(p) {
			for _, value := range variables[p.Param.Value] {
				out = append(out, optionUse{value, name})
			}
		}
	}
	return out
}
