package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/tree"
)

// shellPattern is an entry of patterns: what makes a command dangerous. All of its
// conditions must be met.
type shellPattern struct {
	id   string
	tier Tier
	// argv is the program and the first words after its options, as patterns; programs
	// are several programs for one entry.
	argv, programs []string
	// valued are the options of the program with a value in the next word.
	valued     []string
	flagsAny   []string // one of these options: a letter, or the name of a long one
	flagsAll   []string
	argsAny    []string // one argument matches one of these patterns
	textAny    []string // an argument or a document contains one of these texts
	except     []string // programs to which the entry does not apply
	pipe       [2][]string
	redirectTo []string
	// operandAny are patterns of the first word after the options.
	operandAny []string
	// computed are the arguments that match argsAny and operandAny, too: those that the text
	// computes, or all that are not literal.
	computed string
	sub      []string // the first word after the options is one of these
	unless   []string // options with which the program changes nothing
	needs    int      // arguments besides the options, without which the program does nothing
}

// readPatterns reads the list patterns of one layer into the patterns so far. An entry
// of a layer that may widen replaces the entry with the same id; others are added.
func readPatterns(r *tree.Reader, have []shellPattern, wide bool) []shellPattern {
	for _, m := range r.Maps("patterns") {
		m.Only("id", "tier", "argv", "programs", "value_flags", "flags_any", "flags_all", "args_any", "text_any", "except", "pipe", "redirect_to", "operand_any", "computed", "needs", "unless_flags", "subcommands")
		m.Require("id", "tier")
		p := shellPattern{
			id:         m.Text("id"),
			tier:       readTier(m, "tier", T4),
			argv:       m.Texts("argv", nil),
			programs:   m.Texts("programs", nil),
			valued:     m.Texts("value_flags", nil),
			flagsAny:   m.Texts("flags_any", nil),
			flagsAll:   m.Texts("flags_all", nil),
			argsAny:    m.Texts("args_any", nil),
			textAny:    m.Texts("text_any", nil),
			except:     m.Texts("except", nil),
			redirectTo: m.Texts("redirect_to", nil),
			operandAny: m.Texts("operand_any", nil),
			computed:   m.Enum("computed", "", "text", "all"),
			needs:      int(m.Int("needs", 0, 0, 9)),
			unless:     m.Texts("unless_flags", nil),
			sub:        m.Texts("subcommands", nil),
		}
		if stages := m.List("pipe"); stages != nil {
			p.pipe = readStages(m, stages)
		}
		if p.tier > T0 &&
			!p.aboutCommands() &&
			len(p.redirectTo) == 0 &&
			p.pipe[0] == nil {
			m.Reject("id", "needs argv, programs, text_any, pipe or redirect_to")
		}
		at := slices.IndexFunc(have, func(x shellPattern) bool {
			return x.id == p.id
		})
		if wide && at >= 0 {
			have[at] = p
		} else {
			have = append(have, p)
		}
	}
	return have
}

func readStages(m *tree.Reader, stages []any) (out [2][]string) {
	if len(stages) != 2 {
		m.Reject("pipe", "must be two lists: the programs that write and those that read")
		return out
	}
	for i, stage := range stages {
		list, _ := stage.([]any)
		for _, v := range list {
			name, ok := v.(string)
			if !ok {
				list = nil
				break
			}
			out[i] = append(out[i], name)
		}
		if len(list) == 0 {
			m.Reject("pipe", "must be two lists of programs")
		}
	}
	return out
}

// Shell returns the dangerous patterns that a text of the shell matches, the highest
// tier first. Without the patterns each text is one that a person must read.
func (k *Risk) Shell(text string) []Danger {
	k, err := k.whole()
	if err != nil {
		return []Danger{{
			ID:     unparsed,
			Tier:   T4,
			Text:   text,
			unread: true,
			whole:  text,
		}}
	}
	s := k.table.scan(text)
	out := s.unclear
	for _, p := range k.patterns {
		if d, ok := s.matches(p); ok && p.tier > T0 {
			out = append(out, d)
		}
	}
	for i := range out {
		out[i].whole = text
	}
	slices.SortStableFunc(out, func(a, b Danger) int {
		return int(b.Tier - a.Tier)
	})
	return out
}

func (s *shellScan) matches(p shellPattern) (Danger, bool) {
	found := func(text string) (Danger, bool) {
		return Danger{ID: p.id, Tier: p.tier, Text: text}, true
	}
	for _, target := range s.writes {
		if slices.ContainsFunc(p.redirectTo, func(pattern string) bool { return s.isPath(pattern, target) }) {
			return found("> " + target.text)
		}
	}
	if p.pipe[0] != nil {
		for _, pipe := range s.pipes {
			takes := s.takesInput
			if pipe.argument {
				takes = s.takesArgument
			}
			from, ok1 := named(pipe.from, p.pipe[0])
			to, ok2 := named(
				slices.DeleteFunc(
					slices.Clone(pipe.to),
					func(c shellCommand) bool { return !takes(c) },
				),
				p.pipe[1],
			)
			if ok1 && ok2 {
				return found(from.shown + " | " + to.shown)
			}
		}
	}
	var all []shellCommand
	for _, c := range s.commands {
		if s.includes(p, c) {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return Danger{}, false
	}
	d, _ := found(all[0].shown)
	d.unread = slices.ContainsFunc(all, shellCommand.computed)
	d.commands = all
	d.includes = func(c shellCommand) bool {
		return s.includes(p, c)
	}
	return d, true
}

// computed reports whether a word of a command is not literal, but for a directory of the
// environment: what the command does is another thing at another time.
func (c shellCommand) computed() bool {
	return slices.ContainsFunc(c.argv, func(a shellWord) bool {
		return a.dynamic && strings.ReplaceAll(
			a.marked,
			string(rune(markPath)),
			"",
		) != a.text ||
			strings.IndexByte(a.marked, markGlob) >= 0 ||
			a.dynamic && !a.computed()
	})
}

// named returns the first command that is one of the programs.
func named(list []shellCommand, programs []string) (shellCommand, bool) {
	for _, c := range list {
		if slices.ContainsFunc(programs, func(p string) bool { return isProgram(p, c.name()) }) {
			return c, true
		}
	}
	return shellCommand{}, false
}

// isProgram reports whether a name is a program of a pattern, or a version of it:
// python3.12 is python.
func isProgram(pattern, name string) bool {
	return glob.Text(pattern, name) ||
		glob.Text(pattern, strings.TrimSuffix(strings.TrimRight(name, "0123456789."), ".exe")) && name != ""
}

// aboutCommands reports whether the entry has a condition on simple commands.
func (p shellPattern) aboutCommands() bool {
	return len(p.argv) > 0 ||
		len(p.programs) > 0 ||
		len(p.textAny) > 0
}

// includes reports whether a simple command can meet the conditions on commands: a part of it
// that is computed is what meets them.
func (s *shellScan) includes(p shellPattern, c shellCommand) bool {
	if !p.aboutCommands() || len(c.argv) == 0 {
		return false
	}
	if slices.ContainsFunc(p.except, func(x string) bool { return isProgram(x, c.name()) }) {
		return false
	}
	args := c.argv[1:]
	if len(p.programs) > 0 &&
		!slices.ContainsFunc(p.programs, func(x string) bool { return isProgram(x, c.name()) }) {
		return false
	}
	starts := []int{0}
	if len(p.argv) > 0 {
		if !isProgram(p.argv[0], c.name()) {
			return false
		}
		if starts = p.positions(args, s.optionsOf(p, c)); len(starts) == 0 {
			return false
		}
	}
	if len(p.flagsAny) > 0 &&
		!slices.ContainsFunc(p.flagsAny, func(f string) bool { return p.hasFlag(args, f) }) {
		return false
	}
	if len(p.sub) > 0 && !slices.ContainsFunc(s.optionsOf(p, c).reach(args, 0), func(at int) bool {
		return at < len(args) &&
			slices.ContainsFunc(p.sub, func(want string) bool {
				return mayBe(want, args[at])
			})
	}) {
		return false
	}
	letters, long := lettersOf(p.unless)
	for i, name := range long {
		long[i] = "--" + name
	}
	if len(p.unless) > 0 &&
		hasOption(args, s.optionsOf(p, c), letters, long...) {
		return false
	}
	if slices.ContainsFunc(p.flagsAll, func(f string) bool { return !p.hasFlag(args, f) }) {
		return false
	}
	if len(p.argsAny) > 0 &&
		!s.hasArgument(p, args, s.optionsOf(p, c)) {
		return false
	}
	if len(p.operandAny) > 0 &&
		!slices.ContainsFunc(s.optionsOf(p, c).reach(args, 0), func(at int) bool {
			return at < len(args) &&
				s.isArgument(p, p.operandAny, args[at])
		}) {
		return false
	}
	return len(p.textAny) == 0 ||
		!s.table.passesText(c.name()) && p.containsText(c)
}

// positions returns where the words of argv after the program are, in each reading of the
// options before them.
func (p shellPattern) positions(args []shellWord, o options) (out []int) {
	for _, at := range o.reach(args, 0) {
		ok := true
		for i, want := range p.argv[1:] {
			if at+i >= len(args) || !mayBe(want, args[at+i]) {
				ok = false
				break
			}
		}
		if ok {
			out = append(out, at)
		}
	}
	return out
}

// mayBe reports whether a word can become one that matches a pattern.
func mayBe(pattern string, a shellWord) bool {
	if glob.Text(pattern, a.text) {
		return true
	}
	return a.computed() &&
		strings.IndexByte(a.marked, markPath) != 0 &&
		glob.Overlaps(pattern, a.asPattern())
}

// isArgument reports whether an argument matches one of some patterns: as it is, as the
// path that it is another spelling of, or by the names of files that it matches.
func (s *shellScan) isArgument(p shellPattern, patterns []string, a shellWord) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		switch {
		case glob.Text(pattern, a.text), s.isPath(pattern, a):
			return true
		case p.computed == "text" && a.chosen(),
			p.computed == "all" && a.computed() && strings.IndexByte(a.marked, markPath) < 0:
			return a.several() && strings.IndexAny(a.marked, allMarks) == 0 ||
				glob.Overlaps(pattern, a.asPattern())
		}
		return false
	})
}

// isPath reports whether a word is a spelling of a path that matches a pattern. The name of
// a parameter can be before it: of=PATH.
func (s *shellScan) isPath(pattern string, a shellWord) bool {
	lead := ""
	prefix := ""
	if name, rest, ok := strings.Cut(pattern, "="); ok {
		lead = name + "="
		pattern = rest
	}
	value, ok := strings.CutPrefix(a.marked, lead)
	if !ok || !strings.HasPrefix(pattern, "/") {
		return false
	}
	if prefix = value; strings.ContainsRune(value, markGlob) && !strings.ContainsAny(value, "\x01\x02\x03\x05") {
		value = shellWord{marked: value}.asPattern()
		prefix, _, _ = strings.Cut(value, "*")
		for _, at := range s.spellings(value) {
			if strings.HasPrefix(prefix, "/") &&
				strings.Count(at, "/") == strings.Count(pattern, "/") &&
				glob.Overlaps(pattern, at) {
				return true
			}
		}
		return false
	}
	return !a.computed() &&
		slices.ContainsFunc(s.spellings(value), func(at string) bool {
			return glob.Text(pattern, at)
		})
}

// spellings returns the absolute paths that a path can be.
func (s *shellScan) spellings(value string) []string {
	if strings.HasPrefix(value, "/") {
		return []string{path.Clean(value)}
	}
	var out []string
	for _, dir := range s.dirs {
		out = append(out, path.Clean(dir+"/"+value))
	}
	if strings.HasPrefix(value, "../") || strings.Contains(value, "/../") { // it can lead to the root
		clean := path.Clean(value)
		for strings.HasPrefix(clean, "../") {
			clean = clean[3:]
		}
		out = append(out, "/"+clean)
	}
	return out
}

// hasArgument reports whether one of some arguments matches. The value of an option is one
// word, and not another option.
func (s *shellScan) hasArgument(p shellPattern, args []shellWord, o options) bool {
	for i, a := range args {
		value := i > 0 &&
			takesNext(args[i-1].text, o) &&
			a.computed() &&
			!a.several()
		if !value && s.isArgument(p, p.argsAny, a) {
			return true
		}
	}
	return false
}

// optionsOf returns the options of the program of a command before its subcommand.
func (s *shellScan) optionsOf(p shellPattern, c shellCommand) options {
	var o options
	o.valued, o.long = lettersOf(p.valued)
	for _, x := range s.table.of(c.name()) {
		if x.global {
			o.valued = o.valued + x.valued
			o.attached = o.attached + x.attached
			o.plain = o.plain + x.plain
			o.long = append(o.long, x.long...)
			o.alone = append(o.alone, x.alone...)
		}
	}
	return o
}

// containsText compares without regard to case and to the amount of space.
func (p shellPattern) containsText(c shellCommand) bool {
	fold := func(s string) string {
		return strings.Join(strings.Fields(strings.ToLower(s)), " ")
	}
	texts := append(
		c.texts[:len(c.texts):len(c.texts)],
		c.argv[1:]...,
	)
	return slices.ContainsFunc(texts, func(a shellWord) bool {
		text := fold(a.text)
		return slices.ContainsFunc(p.textAny, func(part string) bool {
			return strings.Contains(text, fold(part))
		})
	})
}

// hasFlag reports whether arguments contain an option: -r, -fr, --recursive, or a
// beginning of the long name, which many programs accept.
func hasFlag(args []shellWord, flag string) bool {
	for _, a := range args {
		s := a.text
		switch {
		case s == "--":
			return false
		case strings.HasPrefix(s, "--"):
			name, _, _ := strings.Cut(s[2:], "=")
			if len(flag) > 1 && name != "" && strings.HasPrefix(flag, name) {
				return true
			}
		case strings.HasPrefix(s, "-"):
			if len(flag) == 1 && strings.Contains(s[1:], flag) ||
				len(flag) > 1 && s[1:] == flag {
				return true
			}
		}
	}
	return false
}

// hasFlag is hasFlag for the arguments that the shell computes, too.
func (p shellPattern) hasFlag(args []shellWord, flag string) bool {
	if hasFlag(args, flag) {
		return true
	}
	operands := 0
	for _, a := range args {
		if !strings.HasPrefix(a.text, "-") || a.text == "-" {
			operands++
		}
	}
	for i, a := range args {
		if a.text == "--" && !a.computed() {
			return false
		}
		if !a.mayBeOption() ||
			!a.several() && operands <= p.needs && !strings.HasPrefix(a.text, "-") {
			continue // if it is the option, nothing is left
		}
		at := strings.LastIndexAny(a.marked, allMarks)
		if !strings.ContainsAny(a.marked, string([]byte{markWords, markLoose})) { // one word, or words with these parts
			at = strings.IndexAny(a.marked, allMarks)
		}
		end := strings.NewReplacer(
			string(rune(markValue)),
			"",
			string(rune(markPath)),
			"",
			string(rune(markWord)),
			"",
			string(rune(markGlob)),
			"",
		).Replace(a.marked[at+1:])
		switch {
		case a.many():
			return true
		case strings.Trim(end, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-=") != "":
		case a.chosen() || len(flag) == 1 && (p.needs > 0 || a.marked != string(rune(markValue))) || i == 0 && a.several(): // the subcommand, and all after it
			return true
		}
	}
	return false
}

// shellKey marks the parameters of a tool that are texts of the shell.
const shellKey = "x-rye-shell"

// Dangers returns the dangerous patterns in the parameters of a call: in the values
// that the schema of the tool marks with x-rye-shell.
func (k *Risk) Dangers(schema map[string]any, params map[string]any) []Danger {
	var out []Danger
	for _, text := range shellTexts(schema, any(params), 0) {
		out = append(out, k.Shell(text)...)
	}
	slices.SortStableFunc(out, func(a, b Danger) int {
		return int(b.Tier - a.Tier)
	})
	return out
}

// shellTexts returns the texts of the shell in a value.
func shellTexts(schema map[string]any, value any, depth int) (out []string) {
	if depth > maxShellDepth {
		return nil
	}
	if marked, _ := schema[shellKey].(bool); marked {
		return allTexts(value)
	}
	switch v := value.(type) {
	case map[string]any:
		props, _ := schema["properties"].(map[string]any)
		for name, child := range v {
			if sub, ok := props[name].(map[string]any); ok {
				out = append(out, shellTexts(sub, child, depth+1)...)
			}
		}
	case []any:
		if sub, ok := schema["items"].(map[string]any); ok {
			for _, child := range v {
				out = append(out, shellTexts(sub, child, depth+1)...)
			}
		}
	}
	return out
}

func allTexts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, child := range v {
			out = append(out, allTexts(child)...)
		}
		return out
	}
	return nil
}
