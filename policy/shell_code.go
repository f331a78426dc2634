package policy

import (
	"slices"
	"strings"
)

// code needs a person for code of another language that is computed: by an option, from a
// file whose name is, or from a document.
func (w *shellWalk) code(p *program, c shellCommand, args []shellWord) {
	if p.readsCode(args) {
		w.inputs(c)
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		for _, flag := range p.codeFlags {
			value, ok := p.valueOf(flag, args, i)
			if ok && (value.whole() || value.chosen()) {
				w.doubt(dynamic, c.shown)
			}
		}
		switch {
		case a.text == "--" || len(a.text) < 2 || a.text[0] != '-':
			if a.whole() || a.many() {
				w.doubt(dynamic, c.shown)
			}
			if a.text == "eval" &&
				i+1 < len(args) &&
				(args[i+1].whole() || args[i+1].chosen()) { // deno eval CODE
				w.doubt(dynamic, c.shown)
			}
			return
		case p.ends(args, i):
			return
		case takesNext(a.text, p.options):
			i++
		}
	}
}

// ends reports whether an option is the program, so that no file is one.
func (p *program) ends(args []shellWord, i int) bool {
	return slices.ContainsFunc(p.programFlags, func(flag string) bool { _, ok := p.valueOf(flag, args, i); return ok })
}

// readsCode reports whether an interpreter reads its code from its input.
func (p *program) readsCode(args []shellWord) bool {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a.text == "-" || isDescriptor(a.text):
			return true
		case a.text == "run" || a.text == "eval":
		case a.dynamic && a.text == "":
			return true
		case len(a.text) < 2 || a.text[0] != '-',
			p.ends(args, i):
			return false
		case takesNext(a.text, p.options):
			i++
		}
	}
	return true
}

// script needs a person for a script of awk, sed or make that is computed, or that starts a
// program. It collects the files that a script writes.
// Code of other languages is not read, except for texts that start a program or delete, and the
// scripts of awk and sed.
func (w *shellWalk) script(p *program, c shellCommand, args []shellWord) {
	var scripts []shellWord
	operand := -1
	given := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		for _, flag := range p.codeFlags {
			if value, ok := p.valueOf(flag, args, i); ok {
				scripts = append(scripts, value)
				given = true
			}
		}
		for _, flag := range p.fileFlags {
			value, ok := p.valueOf(flag, args, i)
			given = given || ok
			if ok && (value.text == "-" || isDescriptor(value.text) || value.whole()) {
				w.doubt(dynamic, c.shown)
			}
		}
		switch {
		case a.text == "--":
			if operand < 0 && i+1 < len(args) {
				operand = i + 1
			}
			i = len(args)
		case len(a.text) < 2 || a.text[0] != '-':
			if operand < 0 {
				operand = i
			}
		case takesNext(a.text, p.options):
			i++
		}
	}
	if p.syntax == "make" {
		w.makeScript(c, args, scripts)
		return
	}
	if !given && operand >= 0 {
		scripts = append(scripts, args[operand])
	}
	var text []string
	for _, s := range scripts {
		if s.whole() || s.chosen() {
			w.doubt(dynamic, c.shown)
		}
		text = append(text, strings.Map(func(r rune) rune {
			if strings.ContainsRune(allMarks, r) {
				return 'x'
			}
			return r
		}, s.marked))
	}
	if len(text) == 0 || p.syntax == "sed" && hasFlag(args, "sandbox") {
		return
	}
	read := awkScript
	if p.syntax == "sed" {
		read = sedScript
	}
	starts, files := read(strings.Join(text, "\n"))
	if starts {
		w.doubt(dynamic, c.shown)
	}
	for _, f := range files {
		w.writes = append(w.writes, literal(f))
	}
}

// makeScript needs a person for text of a makefile in the arguments of make.
func (w *shellWalk) makeScript(c shellCommand, args, scripts []shellWord) {
	if len(scripts) > 0 {
		w.doubt(dynamic, c.shown)
	}
	for _, a := range args {
		name, value, set := strings.Cut(a.text, "=")
		if set && isName(strings.TrimRight(name, "?:+")) && strings.ContainsAny(value, ";|&`\n") { // recipes have it in their texts
			w.joined(c, []shellWord{a.after(len(a.text) - len(value))})
		}
		name = strings.TrimRight(name, "?:+!")
		if set && (name == "SHELL" || name == ".SHELLFLAGS" || name == "MAKEFLAGS") ||
			strings.Contains(a.text, "$(shell") ||
			strings.Contains(a.text, "${shell") ||
			set && strings.HasSuffix(strings.SplitN(a.text, "=", 2)[0], "!") {
			w.doubt(dynamic, c.shown)
		}
	}
}

// sedScript reports whether a script of sed starts a program, or cannot be read, and
// returns the files that it writes.
func sedScript(s string) (starts bool, files []string) {
	r := &sedReader{s: s}
	for r.i < len(r.s) {
		if !r.command() {
			return true, r.files
		}
	}
	return false, r.files
}

// sedReader reads a script of sed.
type sedReader struct {
	s     string
	i     int
	files []string
}

func (r *sedReader) peek() byte {
	if r.i < len(r.s) {
		return r.s[r.i]
	}
	return 0
}

func (r *sedReader) skip(chars string) {
	for r.i < len(r.s) && strings.IndexByte(chars, r.s[r.i]) >= 0 {
		r.i++
	}
}

// line returns the rest of the line.
func (r *sedReader) line() string {
	rest := r.s[r.i:]
	line, _, _ := strings.Cut(rest, "\n")
	r.i += len(line)
	return line
}

// until reads up to a delimiter, which a backslash hides.
func (r *sedReader) until(end byte) bool {
	for ; r.i < len(r.s); r.i++ {
		switch r.s[r.i] {
		case '\\':
			r.i++
		case end:
			r.i++
			return true
		}
	}
	return false
}

// address reads an address, if there is one.
func (r *sedReader) address() (ok bool) {
	switch c := r.peek(); {
	case c == '/':
		r.i++
		ok = r.until('/')
	case c == '\\' && r.i+1 < len(r.s):
		end := r.s[r.i+1]
		r.i += 2
		ok = r.until(end)
	default:
		r.skip("0123456789$~+")
		return true
	}
	r.skip("IM")
	return ok
}

// command reads one command. It returns false for one that starts a program, or for a text that is not a command.
func (r *sedReader) command() bool {
	r.skip(" \t\n;")
	if r.i >= len(r.s) {
		return true
	}
	if !r.address() {
		return false
	}
	r.skip(" \t")
	if r.peek() == ',' {
		r.i++
		r.skip(" \t")
		if !r.address() {
			return false
		}
	}
	r.skip(" \t!")
	c := r.peek()
	r.i++
	switch c {
	case '{', '}', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', '=', 'z', 'F':
		return true
	case '#', 'r', 'R', 'v':
		r.line()
		return true
	case 'w', 'W':
		r.files = append(r.files, strings.TrimSpace(r.line()))
		return true
	case ':', 'b', 't', 'T':
		for r.i < len(r.s) && r.s[r.i] != '\n' && r.s[r.i] != ';' && r.s[r.i] != '}' {
			r.i++
		}
		return true
	case 'q', 'Q', 'l', 'L':
		r.skip(" \t0123456789")
		return true
	case 'a', 'i', 'c':
		for strings.HasSuffix(r.line(), "\\") && r.i < len(r.s) {
			r.i++
		}
		return true
	case 's', 'y':
		end := r.peek()
		r.i++
		return end != 0 &&
			end != '\n' &&
			r.until(end) &&
			r.until(end) &&
			(c == 'y' || r.flags())
	}
	return false
}

// flags reads the flags of s.
func (r *sedReader) flags() bool {
	for r.i < len(r.s) {
		switch c := r.s[r.i]; {
		case c == 'e':
			return false
		case c == 'w':
			r.i++
			r.files = append(r.files, strings.TrimSpace(r.line()))
			return true
		case strings.IndexByte("gpiImM0123456789", c) >= 0:
			r.i++
		default:
			return true
		}
	}
	return true
}

// awkScript reports whether a script of awk starts a program, and returns the files that it
// writes. Texts and regular expressions in it are skipped.
func awkScript(s string) (starts bool, files []string) {
	before := byte(0) // the last character that is not space
	word := ""
	output := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '#':
			for i < len(s) && s[i] != '\n' {
				i++
			}
			continue
		case c == '"':
			from := i + 1
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			if before == '>' && output {
				files = append(files, s[from:min(i, len(s))])
			}
		case c == '/' && strings.IndexByte("\x00(,!~&|{};\n=", before) >= 0, c == '/' && word == "return":
			for i++; i < len(s) && s[i] != '/'; i++ {
				switch s[i] {
				case '\\':
					i++
				case '[': // a slash in brackets is one
					end := strings.IndexByte(s[min(i+2, len(s)):], ']')
					if end >= 0 && !strings.Contains(s[i:i+2+end], "\n") {
						i += 2 + end
					}
				}
			}
		case c == '|':
			if i+1 < len(s) && s[i+1] == '|' {
				i++
				break
			}
			return true, files // print | "program", "program" | getline
		case c == '@': // a call by name, or an extension
			return true, files
		case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z':
			from := i
			for i+1 < len(s) && (s[i+1] == '_' || s[i+1]|0x20 >= 'a' && s[i+1]|0x20 <= 'z' || s[i+1] >= '0' && s[i+1] <= '9') {
				i++
			}
			word = s[from : i+1]
			if word == "print" || word == "printf" {
				output = true
			}
			if word == "system" {
				return true, files
			}
			before = 'a'
			continue
		}
		if c == ';' || c == '\n' || c == '}' {
			output = false
		}
		if c != ' ' && c != '\t' && c != '\r' {
			before = c
			word = ""
		}
	}
	return false, files
}
