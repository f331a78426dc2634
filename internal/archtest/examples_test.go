package archtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A section is a heading of a page with the text up to the next heading of the same or a
// higher level, so it includes its parts.
type section struct {
	path, title string
	level       int
	text        string // without hidden parts
}

// withoutExample are the sections that state no rules, or whose rules have their examples
// elsewhere, with the reason. An empty title is every section of the page.
var withoutExample = []struct{ path, title, why string }{
	{"docs/reference/errors.md", "", "each code is a row of the table at its beginning, which has the example"},
	{"docs/reference/format/README.md", "", "it is the list of the pages"},
	{"docs/reference/limits.md", "", "it lists what rye does not have"},
	{"docs/reference/packages.md", "Not yet", "it lists what rye does not have"},
	{"docs/reference/platforms.md", "What was run where", "it states which tests ran"},
}

// exampleColumns are the headings of table columns that have an example, or the test of the row.
var exampleColumns = []string{"Example", "Write", "Written", "Call", "Command", "Test", "Shown by"}

// ruleWords and ruleRows are how many words outside of tables, or rows of a table, a section has,
// at least, that states rules and does not only introduce its parts.
const (
	ruleWords = 20
	ruleRows  = 3
)

// TestRulesHaveExamples: each section of a page for users that states rules shows a command, a
// file or another text in a block, or has a table with an example in each row. Commands of
// blocks are run by TestDocumentedCommands and TestWeek, and YAML is read by TestDocumentedYAML.
func TestRulesHaveExamples(t *testing.T) {
	used, rules := map[int]bool{}, 0
	for _, path := range pages(t) {
		if !slices.ContainsFunc([]string{"docs/tutorials/", "docs/how-to/", "docs/explanation/", "docs/reference/"}, func(dir string) bool { return strings.HasPrefix(path, dir) }) {
			continue
		}
		for _, s := range sections(path, readFile(t, "../../"+path)) {
			if s.level > 3 || !s.statesRules() {
				continue
			}
			rules++
			if s.hasExample() {
				continue
			}
			i := slices.IndexFunc(withoutExample, func(w struct{ path, title, why string }) bool {
				return w.path == path && (w.title == "" || w.title == s.title)
			})
			if i < 0 {
				t.Errorf("%s: %q states rules and shows no example", path, s.title)
			}
			used[i] = true
		}
	}
	for i, w := range withoutExample {
		if !used[i] {
			t.Errorf("%s has no section %q without an example; remove its row", w.path, w.title)
		}
	}
	if rules < 300 {
		t.Errorf("only %d sections state rules", rules)
	}
}

// TestSections shows what is a section, a rule and an example.
func TestSections(t *testing.T) {
	long := strings.Repeat("A rule has many words. ", 4)
	page := "# Page\n\n" + long + "\n\n## With parts\n\n" + long + "\n### A part\n\n" + long + "\n\n```sh\n## not a heading\n```\n\n## Bare\n\n" + long + "\n\n<!--\n```sh\nhidden\n```\n-->\n\n" +
		"## Short\n\nSee there.\n\n## Rows\n\n| Do | Write |\n|---|---|\n| a | `a` |\n| b | `b` |\n| c | `c` |\n\n## Gap\n\n| Do | Write |\n|---|---|\n| a | `a` |\n| b | b |\n| c | `c` |\n"
	want := map[string][2]bool{
		"Page": {true, true}, "With parts": {true, true}, "A part": {true, true}, "Bare": {true, false}, "Short": {false, false}, "Rows": {true, true}, "Gap": {true, false},
	}
	all := sections("p", page)
	for _, s := range all {
		if got := [2]bool{s.statesRules(), s.hasExample()}; got != want[s.title] {
			t.Errorf("%s: states rules, has an example: %v, want %v", s.title, got, want[s.title])
		}
	}
	if len(all) != len(want) {
		t.Errorf("%d sections, want %d", len(all), len(want))
	}
}

// sections returns the sections of a page.
func sections(path, page string) []section {
	var all []section
	fence := ""
	for line := range strings.Lines(withoutComments(page)) {
		text := strings.TrimRight(line, "\n")
		if mark := blockFence.FindString(text); mark != "" && (fence == "" || text == fence) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
		}
		if m := pageHeading.FindStringSubmatch(text); fence == "" && m != nil {
			all = append(all, section{path: path, title: m[2], level: len(m[1])})
			continue
		}
		open := 7 // one more than the deepest level of a heading
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].level < open {
				all[i].text += line
				open = all[i].level
			}
		}
	}
	return all
}

// statesRules reports whether a section has more than an introduction or a reference.
func (s section) statesRules() bool {
	n, rows := 0, 0
	for _, line := range s.outside() {
		if strings.HasPrefix(line, "|") {
			rows++
		} else {
			n += words(line)
		}
	}
	return n >= ruleWords || rows >= ruleRows+2 // with the heading and the line below it
}

// hasExample reports whether a section has a block, or a table with an example in each row.
func (s section) hasExample() bool {
	if blockStart.MatchString(s.text) {
		return true
	}
	column, found := -1, false
	for _, line := range append(s.outside(), "") {
		cells := strings.Split(strings.Trim(codeSpan.ReplaceAllString(line, "`code`"), " "), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			if found {
				return true
			}
			column = -1
		case strings.HasPrefix(line, "|--"):
		case column < 0:
			column = slices.IndexFunc(cells, func(c string) bool { return slices.Contains(exampleColumns, strings.TrimSpace(c)) })
			if column < 0 {
				column = len(cells) // no column of this table has examples
			}
			found = column < len(cells)
		default:
			found = found && column < len(cells) && strings.Contains(cells[column], "`code`")
		}
	}
	return false
}

// outside returns the lines of a section that are not in blocks.
func (s section) outside() []string {
	var out []string
	fence := ""
	for line := range strings.Lines(s.text) {
		line = strings.TrimRight(line, "\n")
		switch mark := blockFence.FindString(line); {
		case fence == "" && mark != "":
			fence = mark
		case fence == "":
			out = append(out, line)
		case line == fence:
			fence = ""
		}
	}
	return out
}

var (
	blockFence  = regexp.MustCompile("^`{3,}")
	blockStart  = regexp.MustCompile("(?m)^`{3,}")
	pageHeading = regexp.MustCompile(`^(#{1,6}) (.+)$`)
)
