package runsoutside

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// kind is what a setting of git names.
type kind int

const (
	nothing   kind = iota
	directory      // of programs or templates
	file           // another configuration
	command        // a text that git passes to a shell, or the path of a program
)

// kindOf returns the kind of value that a setting names. The last parts of names come from
// git's own documentation, and from extensions that follow it: a setting that a later version
// of git adds ends with one of them.
func kindOf(key, text string) kind {
	section, name := split(key)
	switch {
	case key == hooksPath || key == "init.templatedir":
		return directory
	case isInclude(key):
		return file
	case section == "alias" || strings.HasPrefix(text, "!") || section == "pager":
		return command
	case name == "path" && slices.Contains([]string{"difftool", "mergetool", "browser", "man", "guitool"}, section):
		return command
	}
	for _, end := range []string{
		"command", "cmd", "program", "driver", "editor", "pager", "textconv", "process", "clean", "smudge", "helper", "external", "hook",
		"fsmonitor", "askpass", "gitproxy", "uploadpack", "receivepack", "tunnel", "filter", "smtpserver", "vcs", "browser", "tool",
	} {
		if strings.HasSuffix(name, end) {
			return command
		}
	}
	return nothing
}

//go:embed interpreters.txt
var interpretersText string

// interpreters are programs that run a file which is their argument.
var interpreters = sync.OnceValue(func() []string {
	return strings.Fields(interpretersText)
})

// words returns the paths that a command names, and which of them the shell would start: those
// matter also if they do not exist.
func words(text, top string) (named, started []string) {
	for _, word := range []string{"$(git rev-parse --show-toplevel)", "`git rev-parse --show-toplevel`", "${GIT_WORK_TREE}", "$GIT_WORK_TREE", "${PWD}", "$PWD"} {
		text = strings.ReplaceAll(text, word, filepath.ToSlash(top)) // in a shell \ is an escape
	}
	text = strings.TrimPrefix(strings.TrimSpace(text), "!")
	first := true
	// Again without quotes: sh -c 'tools/x.sh "$0"' has a command in one word.
	for _, word := range append(append(fields(text), ";"), fields(unquote.Replace(text))...) {
		if word == ";" ||
			word == "&&" ||
			word == "||" ||
			word == "|" ||
			word == "&" ||
			word == "(" ||
			word == "{" ||
			word == "then" ||
			word == "do" ||
			word == "else" {
			first = true
			continue
		}
		name, rest, ok := strings.Cut(word, "=")
		if ok && name != "" && !strings.Contains(name, "/") {
			named = append(named, rest) // --config=FILE, NAME=FILE
			continue
		}
		if i := strings.LastIndexByte(word, '$'); i >= 0 { // "$root/tools/x.sh"
			_, rest, ok := strings.Cut(word[i:], "/")
			if !ok {
				continue
			}
			word = rest
		}
		if word == "" || word[0] == '-' || strings.Contains(word, "://") {
			continue
		}
		named = append(named, word)
		if first && strings.Contains(word, "/") {
			started = append(started, word)
		}
		first = first && slices.Contains(interpreters(), filepath.Base(word))
	}
	return named, started
}

var unquote = strings.NewReplacer(`"`, " ", `'`, " ", `\`, "")

// fields divides a command at blanks and operators, without quotes.
func fields(text string) (out []string) {
	var word strings.Builder
	inWord := false
	quote := byte(0)
	end := func() {
		if inWord {
			out = append(out, word.String())
		}
		word.Reset()
		inWord = false
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == '"' && c == '\\' && i+1 < len(text),
			quote == 0 && c == '\\' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
			inWord = true
		case quote != 0:
			word.WriteByte(c)
			inWord = true
		case c == '\'' || c == '"':
			quote = c
			inWord = true
		case isSpace(c):
			end()
		case strings.IndexByte(";|&(){}<>", c) >= 0 && !strings.HasSuffix(word.String(), "$"):
			end()
			if c == ';' || c == '|' || c == '&' || c == '(' {
				out = append(out, ";")
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	end()
	return out
}
