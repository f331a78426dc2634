package policy

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/tree"
)

// shellTable is what the configuration states about programs, variables and settings.
type shellTable struct {
	programs  []*program
	byName    map[string][]*program // of the names that are not patterns
	patterned []*program            // with a name that is a pattern
	variables []shellVariable
	settings  []string   // of git, whose value is a command
	paths     []string   // variables of the environment that contain one absolute path
	values    [][]string // commands whose output is one word, not an option
	numbers   [][]string // commands whose output is numbers
}

// program is an entry of programs: one way in which a program uses its arguments.
type program struct {
	id    string
	names []string
	options
	global bool   // they are before the subcommand
	syntax string // the reader of arguments that no other key describes

	starts      bool     // the words after options and operands are a program
	operands    int      // words before the program
	anywhere    bool     // each word can be the program
	assigns     bool     // NAME=VALUE words are before the program
	sub         []string // subcommands that start a program; others do not
	groups      []string // words before a subcommand
	afterDashes bool     // the program can be after --
	entrypoint  []string // options that replace the program
	joins       bool     // the words are one text of the shell
	inputShell  bool     // without a program it is a shell that reads its input
	inputArgs   bool     // words of the input become arguments
	replaceBy   []string // options with the text that such a word replaces
	rest        []string // options after which a program follows

	textFlags    []string // options whose value is a text of the shell
	textAfter    []string // subcommands of which these are
	textLead     []string // the value is a text only after one of these
	textWords    bool     // the value is divided into words; a variable adds arguments
	textAttached bool     // the value is in the same word
	bundled      bool     // the first word can be letters of options
	texts        bool     // each argument is a text
	textLeads    []string // an argument that begins so is a text
	textSub      []string // subcommands whose arguments are texts

	shell        bool
	interpreter  bool
	codeFlags    []string // options whose value is code
	programFlags []string // options after which no code is read from the input
	fileFlags    []string // options whose value is a file with code
	prints       bool     // the output is the arguments
}

// options are the options of a program.
type options struct {
	valued   string   // letters of those with a value in the next word
	attached string   // letters of those whose value, if any, is in the same word
	plain    string   // letters of those without a value
	long     []string // long ones with a value in the next word
	alone    []string // long ones without a value
}

// shellVariable is an entry of variables.
type shellVariable struct {
	names  []string
	kind   string
	except []string // values without effect
}

// The kinds of variables.
const (
	kindCommand = "command" // the value is a text of the shell
	kindStart   = "start"   // a file that a shell runs when it starts
	kindPrompt  = "prompt"  // a shell expands the value
	kindLoad    = "load"    // a program loads code that the value names
)

// syntaxes are the readers of arguments, for the key syntax.
func syntaxes() []string {
	return []string{"alias", "awk", "command", "eval", "evaluates", "find", "gdb", "git", "hash", "input", "make", "mapfile", "sed", "source", "ssh", "ssh-options", "trap"}
}

// readTable reads the tables of one layer into the table so far. A layer that may widen
// replaces entries with the same id. Any other one adds entries: every entry of a program
// is read, so that an added one finds more. What would find less is an error in it.
func (t *shellTable) read(r *tree.Reader, wide bool) {
	for _, m := range r.Maps("programs") {
		p := readProgram(m)
		if p.prints && !wide {
			m.Reject("prints", "permits more, which only a configuration in your user space can")
			continue
		}
		at := slices.IndexFunc(t.programs, func(x *program) bool {
			return x.id == p.id
		})
		if wide && at >= 0 {
			t.programs[at] = p
		} else {
			t.programs = append(t.programs, p)
		}
	}
	for _, m := range r.Maps("variables") {
		m.Only("names", "kind", "except")
		m.Require("names", "kind")
		t.variables = append(t.variables, shellVariable{m.Texts("names", nil), m.Enum("kind", kindCommand, kindCommand, kindStart, kindPrompt, kindLoad), m.Texts("except", nil)})
	}
	t.settings = append(t.settings, r.Texts("settings", nil)...)
	for _, key := range []string{"values", "numbers", "path_variables"} {
		if r.Has(key) && !wide {
			r.Reject(key, "permits more, which only a configuration in your user space can")
			continue
		}
		list := r.Texts(key, nil)
		if key == "path_variables" {
			t.paths = append(t.paths, list...)
		}
		for _, s := range list {
			switch key {
			case "values":
				t.values = append(t.values, strings.Fields(s))
			case "numbers":
				t.numbers = append(t.numbers, strings.Fields(s))
			}
		}
	}
	t.index()
}

func readProgram(m *tree.Reader) *program {
	m.Only("id", "names", "global_options", "syntax", "starts", "anywhere", "operands", "assigns", "subcommands", "groups", "after_dashes", "entrypoint", "joins", "input_shell", "input_arguments", "replace_flags", "rest_flags",
		"value_flags", "attached_flags", "flags", "text_flags", "text_after", "text_lead", "text_words", "text_attached", "bundled", "texts", "text_leads", "text_subcommands",
		"shell", "interpreter", "code_flags", "program_flags", "file_flags", "prints")
	m.Require("names")
	p := &program{
		names:        m.Texts("names", nil),
		starts:       m.Bool("starts", false),
		anywhere:     m.Bool("anywhere", false),
		global:       m.Bool("global_options", false),
		operands:     int(m.Int("operands", 0, 0, 9)),
		assigns:      m.Bool("assigns", false),
		sub:          m.Texts("subcommands", nil),
		groups:       m.Texts("groups", nil),
		afterDashes:  m.Bool("after_dashes", false),
		entrypoint:   m.Texts("entrypoint", nil),
		joins:        m.Bool("joins", false),
		inputShell:   m.Bool("input_shell", false),
		inputArgs:    m.Bool("input_arguments", false),
		replaceBy:    m.Texts("replace_flags", nil),
		rest:         m.Texts("rest_flags", nil),
		textFlags:    m.Texts("text_flags", nil),
		textAfter:    m.Texts("text_after", nil),
		textLead:     m.Texts("text_lead", nil),
		textWords:    m.Bool("text_words", false),
		textAttached: m.Bool("text_attached", false),
		bundled:      m.Bool("bundled", false),
		texts:        m.Bool("texts", false),
		textLeads:    m.Texts("text_leads", nil),
		textSub:      m.Texts("text_subcommands", nil),
		shell:        m.Bool("shell", false),
		interpreter:  m.Bool("interpreter", false),
		codeFlags:    m.Texts("code_flags", nil),
		programFlags: m.Texts("program_flags", nil),
		fileFlags:    m.Texts("file_flags", nil),
		prints:       m.Bool("prints", false),
	}
	if m.Has("syntax") {
		p.syntax = m.Enum("syntax", "", syntaxes()...)
	}
	p.valued, p.long = lettersOf(m.Texts("value_flags", nil))
	p.attached, _ = lettersOf(m.Texts("attached_flags", nil))
	p.plain, p.alone = lettersOf(m.Texts("flags", nil))
	if p.id = m.Text("id"); p.id == "" && len(p.names) > 0 {
		p.id = p.names[0]
	}
	return p
}

// lettersOf divides names of options into single letters and the others.
func lettersOf(names []string) (letters string, long []string) {
	for _, name := range names {
		if len(name) == 1 {
			letters += name
		} else {
			long = append(long, name)
		}
	}
	return letters, long
}

func (t *shellTable) index() {
	t.byName = map[string][]*program{}
	t.patterned = nil
	for _, p := range t.programs {
		patterned := false
		for _, name := range p.names {
			if isNamePattern(name) {
				patterned = true
				continue
			}
			t.byName[name] = append(t.byName[name], p)
		}
		if patterned {
			t.patterned = append(t.patterned, p)
		}
	}
}

// isNamePattern reports whether a name is a pattern. [ is a program.
func isNamePattern(name string) bool {
	return name != "[" && glob.IsPattern(name)
}

// of returns the entries of a program, and the entries of the program of which its name is
// a version.
func (t *shellTable) of(name string) []*program {
	out := t.byName[name]
	if short := versionOf(name); short != name && short != "" {
		out = append(out[:len(out):len(out)], t.byName[short]...)
	}
	for _, p := range t.patterned {
		if !slices.Contains(out, p) &&
			slices.ContainsFunc(p.names, func(n string) bool {
				return isNamePattern(n) &&
					isProgram(n, name)
			}) {
			out = append(out[:len(out):len(out)], p)
		}
	}
	return out
}

// has reports whether an entry of a program meets a condition.
func (t *shellTable) has(name string, is func(*program) bool) bool {
	return slices.ContainsFunc(t.of(name), is)
}

func (t *shellTable) isShell(name string) bool {
	return t.has(name, func(p *program) bool { return p.shell })
}

// interpreter returns the entry of a program that runs code of its own language.
func (t *shellTable) interpreter(name string) (*program, bool) {
	for _, p := range t.of(name) {
		if p.interpreter {
			return p, true
		}
	}
	return nil, false
}

// variable returns the entry of a variable: the use that programs make of it.
func (t *shellTable) variable(name, kind string) (shellVariable, bool) {
	for _, v := range t.variables {
		if v.kind == kind &&
			slices.ContainsFunc(v.names, func(n string) bool { return glob.Text(n, name) }) {
			return v, true
		}
	}
	return shellVariable{}, false
}

// outputs reports whether the words of a command match one of a list. A computed word
// matches a last * only.
func outputs(list [][]string, argv []shellWord) bool {
	return slices.ContainsFunc(list, func(words []string) bool {
		if len(words) != len(argv) {
			return false
		}
		for i, w := range words {
			a := argv[i]
			switch {
			case a.computed() && (w != "*" || i+1 < len(words)):
				return false
			case w != "*" && (!glob.Text(w, a.text) || strings.ContainsAny(a.text, " \t\n") || strings.Contains(a.text, "%n") || strings.Contains(a.text, "%t")):
				return false // date '+%Y -rf' prints two words
			}
		}
		return true
	})
}

// versionOf removes the version and the suffix of a program: python3.12 is python.
func versionOf(name string) string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(name, "0123456789."), ".exe"), "-")
}
