package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	urfave "github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
)

// line is a sorted command line. The library stops reading flags at the first
// positional and would read "--dry-run" at the end as an argument. SortArgs is the
// only function that moves every flag in front of its command's positionals.
type line struct {
	Path  []*Command // from the root to the command called
	Flags [][]string // for each element of Path: "--name=value"
	Args  []string   // positionals
	Dash  int        // number of args before "--", -1 without one
	Help  helpDetail

	problems []*diag.Error
	unknown  []unknownWord // flags that the command does not have
}

// unknownWord is a flag that the command does not have, with its error.
type unknownWord struct {
	name, value string
	err         *diag.Error
}

func (l *line) cmd() *Command {
	return l.Path[len(l.Path)-1]
}

// name renders the command called without the program's name.
func (l *line) name() string {
	return strings.TrimPrefix(PathName(l.Path), "rye ")
}

// PathName returns the names on a path of commands, joined by spaces.
func PathName(path []*Command) string {
	names := make([]string, len(path))
	for i, c := range path {
		names[i] = c.Name
	}
	return strings.Join(names, " ")
}

// Words renders the line in the order that the library understands.
func (l *line) Words() []string {
	var out []string
	for i, c := range l.Path {
		out = append(append(out, c.Name), l.Flags[i]...)
	}
	return append(append(out, "--"), l.Args...)
}

// early is a flag that the user typed before the subcommand that owns it.
type early struct {
	word, name, value  string
	hasValue, consumed bool
	next               string // the next word, "" if it is a flag
}

// sorter walks the words once, from left to right.
type sorter struct {
	line
	words []string
	at    int
	early []early
}

// SortArgs reads the words after the program's name. It always returns a line
// with as much of the path as was understood.
func SortArgs(root *Command, words []string) (*line, error) {
	s := &sorter{words: words, line: line{Path: []*Command{root}, Flags: [][]string{nil}, Dash: -1}}
	for s.at < len(s.words) {
		if s.cmd().Delegated {
			return &s.line, nil
		}
		word := s.words[s.at]
		s.at++
		switch {
		case s.Dash >= 0 || !isFlag(word):
			if err := s.positional(word); err != nil {
				return &s.line, err
			}
		case word == "--":
			s.Dash = len(s.Args)
		case word == promptFlag && len(s.Path) == 1:
			s.prompt()
		default:
			s.flag(word)
		}
	}
	if s.cmd().Delegated {
		return &s.line, nil
	}
	s.settleEarly()
	if s.Help == noHelp {
		s.checkCall()
	}
	return &s.line, joinProblems(s.problems)
}

// isFlag reports whether a word asks to be read as a flag; "-" is stdin and
// "-1.5" a number.
func isFlag(word string) bool {
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	_, err := strconv.ParseFloat(word, 64)
	return err != nil || strings.ContainsAny(word[1:2], "iInN") // -inf and -nan are no numbers here
}

func (s *sorter) positional(word string) error {
	c := s.cmd()
	sub := c.sub(word)
	if len(c.Subs) == 0 ||
		c.Run != nil && (sub == nil || len(s.Args) > 0 || s.Dash >= 0) {
		s.Args = append(s.Args, word)
		return nil
	}
	if sub == nil &&
		len(s.Path) == 1 &&
		isSentence(word) &&
		s.at == len(s.words) {
		s.prompt()
		return s.positional(word)
	}
	if sub == nil && s.valueBeforeDelegated() {
		return nil
	}
	if sub == nil {
		return unknownCommand(s.Path, word, s.words[s.at:]...)
	}
	s.Path = append(s.Path, sub)
	s.Flags = append(s.Flags, nil)
	return nil
}

// valueBeforeDelegated reports whether the word that was read is the value of an unknown flag before
// the name of a delegated command, as in rye registry --data DIR serve: only the program that has
// the command knows the flag.
func (s *sorter) valueBeforeDelegated() bool {
	if len(s.early) == 0 ||
		s.at < 2 ||
		s.at == len(s.words) {
		return false
	}
	flag := s.early[len(s.early)-1]
	next := s.cmd().sub(s.words[s.at])
	return flag.word == s.words[s.at-2] &&
		!flag.hasValue &&
		next != nil &&
		next.Delegated
}

// promptFlag asks one question: rye -p TEXT… is rye run prompt TEXT….
const promptFlag = "-p"

// prompt reads on as if the words "run prompt" had been typed. A program without that
// command has no prompts.
func (s *sorter) prompt() {
	run := s.cmd().sub("run")
	if run == nil {
		s.problem(unknownFlag(s.Path, promptFlag))
		return
	}
	s.Path = append(s.Path, run)
	s.Flags = append(s.Flags, nil)
	s.Args = append(s.Args, "prompt")
}

// isSentence reports whether a word cannot be a misspelled command: it has a blank in it.
func isSentence(word string) bool {
	return strings.ContainsFunc(strings.TrimSpace(word), unicode.IsSpace)
}

func (s *sorter) flag(word string) {
	name, value, hasValue := splitFlag(word)
	level, f := s.lookup(word, name)
	if f != nil {
		s.known(level, f, word, value, hasValue)
		return
	}
	if bools := s.cluster(word); bools != nil {
		for _, b := range bools {
			level, f := s.lookup(b, b[1:])
			s.known(level, f, b, "", false)
		}
		return
	}
	e := early{
		word:     word,
		name:     name,
		value:    value,
		hasValue: hasValue,
	}
	if s.at < len(s.words) && !isFlag(s.words[s.at]) {
		e.next = s.words[s.at]
	}
	takes, known := guessArity(s.cmd(), word, name)
	if known && takes && !hasValue && s.at < len(s.words) {
		e.value = s.words[s.at]
		e.hasValue = true
		e.consumed = true
		s.at++
	}
	s.early = append(s.early, e)
}

func splitFlag(word string) (name, value string, hasValue bool) {
	return strings.Cut(strings.TrimPrefix(word[1:], "-"), "=")
}

// lookup finds the owner of a flag among the commands of the path, the deepest
// first. One dash goes with one letter, two with a name.
func (s *sorter) lookup(word, name string) (level int, f urfave.Flag) {
	if !dashesFit(word, name) {
		return 0, nil
	}
	for i := len(s.Path) - 1; i >= 0; i-- {
		if f := s.Path[i].flag(name); f != nil {
			return i, f
		}
	}
	return 0, nil
}

func dashesFit(word, name string) bool {
	return strings.HasPrefix(word, "--") == (len(name) > 1)
}

// cluster splits "-qv" into its switches, or nil if it is not a cluster.
func (s *sorter) cluster(word string) []string {
	if strings.HasPrefix(word, "--") || len(word) < 3 {
		return nil
	}
	var out []string
	for _, r := range word[1:] {
		w := "-" + string(r)
		_, f := s.lookup(w, string(r))
		if f == nil || takesValue(f) {
			return nil
		}
		out = append(out, w)
	}
	return out
}

// guessArity reports whether a flag of some command below c takes a value.
func guessArity(c *Command, word, name string) (takes, known bool) {
	for _, sub := range c.Subs {
		f := sub.flag(name)
		if f != nil && dashesFit(word, name) {
			return takesValue(f), true
		}
		if t, k := guessArity(sub, word, name); k {
			return t, true
		}
	}
	return false, false
}

// known records a flag with its value at its owner's level.
func (s *sorter) known(level int, f urfave.Flag, word, value string, hasValue bool) {
	name := f.Names()[0]
	shown, _, _ := strings.Cut(word, "=")
	switch {
	case takesValue(f):
		if !hasValue {
			var ok bool
			if value, ok = s.nextValue(shown); !ok {
				return
			}
		}
	case !hasValue:
		value = "true"
	default:
		if _, err := strconv.ParseBool(value); err != nil {
			s.problem(diag.New(diag.Usage, "reading arguments: flag %s is a switch and takes true or false, not %q", shown, value))
			return
		}
	}
	s.record(level, f, name, shown, value)
}

func (s *sorter) record(level int, f urfave.Flag, name, shown, value string) {
	if name == "help" && level == 0 {
		if value == "true" {
			s.Help = max(s.Help, helpDetailOf(shown))
		}
		return
	}
	prefix := "--" + name + "="
	for _, given := range s.Flags[level] {
		old, ok := strings.CutPrefix(given, prefix)
		if ok && !repeatable(f) {
			s.problem(diag.New(diag.Usage, "reading arguments: flag %s is given twice, with %q and %q", shown, old, value).
				WithReason("flag_twice").WithDetail("flag", shown))
			return
		}
	}
	s.Flags[level] = append(s.Flags[level], prefix+value)
}

// nextValue takes the next word as a flag's value. A word that looks like a
// flag is refused: the value was more likely forgotten.
func (s *sorter) nextValue(shown string) (string, bool) {
	if s.at < len(s.words) && !isFlag(s.words[s.at]) {
		s.at++
		return s.words[s.at-1], true
	}
	err := diag.New(diag.Usage, "reading arguments: flag %s needs a value", shown)
	if s.at < len(s.words) {
		next := s.words[s.at]
		err.WithReason("flag_value").WithDetail("value", next).WithDetail("flag", shown)
		s.at++
	}
	s.problem(err)
	return "", false
}

// settleEarly assigns the early flags to their subcommand.
func (s *sorter) settleEarly() {
	for _, e := range s.early {
		level, f := s.lookup(e.word, e.name)
		switch {
		case f == nil:
			if s.Help == noHelp {
				err := unknownFlag(s.Path, e.word)
				s.unknown = append(s.unknown, unknownWord{e.name, cmp.Or(e.value, e.next), err})
				s.problem(err)
			}
		case takesValue(f) != e.hasValue && (takesValue(f) || e.consumed):
			s.problem(diag.New(diag.Usage, "reading arguments: flag %s is too early to know whether a value follows", e.word).
				WithReason("early_flag").WithDetail("command", PathName(s.Path)))
		default:
			s.known(level, f, e.word, e.value, e.hasValue)
		}
	}
}

// checkCall holds the number of positionals against what the command takes.
func (s *sorter) checkCall() {
	c := s.cmd()
	if c.Run == nil && len(c.Subs) > 0 {
		if len(s.Path) > 1 && len(s.problems) == 0 {
			s.problem(diag.New(diag.Usage, "reading arguments: %q needs a subcommand", PathName(s.Path)).
				WithReason("no_subcommand").
				WithDetail("command", PathName(s.Path)).
				WithDetail("subcommands", c.subNames()))
		}
		return
	}
	least, most := c.Bounds()
	switch n := len(s.Args); {
	case n < least:
		s.problem(diag.New(
			diag.Usage,
			"reading arguments: %q needs %s",
			PathName(s.Path),
			missing(c.Args, n),
		).
			WithReason("count").WithDetail("usage", usageLine(s.Path)))
	case most >= 0 && n > most && len(s.unknown) > 0: // it can be the value of that flag
	case most >= 0 && n > most:
		s.problem(diag.New(
			diag.Usage,
			"reading arguments: %q takes %s, but %q is one too many",
			PathName(s.Path),
			count(most),
			s.Args[most],
		).
			WithReason("count").WithDetail("usage", usageLine(s.Path)))
	}
}

// missing names the required words from the n-th on.
func missing(args string, n int) string {
	var out []string
	for _, word := range strings.Fields(args) {
		if !strings.HasPrefix(word, "[") {
			out = append(out, strings.TrimSuffix(word, "…"))
		}
	}
	return strings.Join(out[n:], " and ")
}

func count(n int) string {
	switch n {
	case 0:
		return "no argument"
	case 1:
		return "one argument"
	}
	return fmt.Sprintf("%d arguments", n)
}

func (s *sorter) problem(err *diag.Error) {
	s.problems = append(s.problems, err)
}

// joinProblems returns nil, the one problem, or one error that lists them all.
func joinProblems(all []*diag.Error) error {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	first := *all[0]
	for _, p := range all {
		f := diag.Errorf(p.Code, 0, 0, "%s", strings.TrimPrefix(p.Message, "reading arguments: "))
		f.Fix = Hint(p)
		first.Findings = append(first.Findings, f)
	}
	first.Message = fmt.Sprintf("reading arguments: %d errors", len(all))
	return &first
}

// otherNames are the names of commands in other package managers.
func otherNames() map[string]string {
	return map[string]string{
		"install": "rye sync (or rye add SOURCE)", "i": "rye sync", "ci": "rye sync --frozen", "get": "rye add SOURCE",
		"uninstall": "rye remove BUNDLE", "rm": "rye remove BUNDLE", "ls": "rye list", "upgrade": "rye update",
		"ask": "rye -p TEXT", "prompt": "rye -p TEXT",
		"exec": "rye run", "cat": "rye show", "check": "rye verify", "publish": "rye bundle publish", "mod": "rye lock",
		"cache clean": "rye cache gc", "cache clear": "rye cache gc", "cache prune": "rye cache gc",
	}
}

// unknownCommand returns the error about a word that does not name a command. more are the words after it.
func unknownCommand(path []*Command, word string, more ...string) *diag.Error {
	parent := path[len(path)-1]
	err := diag.New(diag.UnknownCommand, "reading arguments: %q has no command %q", PathName(path), word)
	names := parent.subNames()
	err.WithDetail("command", PathName(path))
	if isSentence(word) && len(path) == 1 {
		return err.WithReason("sentence")
	}
	other := otherNames()[strings.TrimPrefix(
		PathName(path)+" "+word,
		path[0].Name+" ",
	)]
	if other != "" {
		return err.WithReason("other_name").WithDetail("nearest", other)
	}
	asText := len(path) == 1 &&
		len(more) > 1 &&
		!slices.ContainsFunc(more, isFlag)
	near := Nearest(word, names)
	// A typing error rarely changes the first letter: "what is here" is not about chat.
	if near != "" && (!asText || near[0] == word[0]) {
		return err.WithReason("nearest").WithDetail("nearest", near)
	}
	if asText {
		return err.
			WithReason("words").
			WithDetail(
				"nearest",
				path[0].Name+" "+strconv.Quote(word+" "+strings.Join(more, " ")),
			)
	}
	return err.WithReason("subcommand")
}

func unknownFlag(path []*Command, word string) *diag.Error {
	shown, _, _ := strings.Cut(word, "=")
	err := diag.New(diag.UnknownFlag, "reading arguments: %q has no flag %s", PathName(path), strconv.Quote(shown))
	if near := nearestFlag(shown, flagWords(path)); near != "" {
		return err.
			WithReason("nearest").
			WithDetail("nearest", near).
			WithDetail("command", PathName(path))
	}
	sub := path[len(path)-1].sub(strings.TrimLeft(shown, "-"))
	if sub != nil {
		return err.
			WithReason("subcommand").
			WithDetail("nearest", PathName(path)+" "+sub.Name)
	}
	return err.WithReason("flags").WithDetail("command", PathName(path))
}

// flagWords returns every flag that the commands of a path accept, as typed.
func flagWords(path []*Command) []string {
	var out []string
	for i := len(path) - 1; i >= 0; i-- {
		for _, f := range path[i].Flags {
			for _, n := range f.Names() {
				out = append(out, Dashed(n))
			}
		}
	}
	return out
}

// Dashed returns a flag's name as typed: -x or --name.
func Dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// projectDir returns the directory that --project names.
func projectDir(dir, p string) (string, error) {
	abs := absolute(dir, p)
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", diag.New(diag.Usage, "reading flag --project: there is no directory %q", p)
	case err != nil:
		return "", diag.New(diag.Usage, "reading flag --project: directory %q: %w", p, errors.Unwrap(err))
	}
	if !info.IsDir() {
		return "", diag.New(diag.Usage, "reading flag --project: %q is not a directory", p)
	}
	return abs, nil
}
