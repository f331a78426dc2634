package archtest

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// A pageLimit is how long a page may be: all of its words, and the words outside of
// tables that a program writes.
type pageLimit struct {
	path  string // of a page, or of a directory with a slash at its end
	words int    // 0 for any number
	prose int    // as words, without the generated part; 0 for any number
}

// pageLimits are in order: the first path that fits decides. To add a page, add a row.
var pageLimits = []pageLimit{
	{path: "README.md", words: 700},
	{path: "CONTRIBUTING.md", words: 1500},
	{path: "CHANGELOG.md", words: 600},
	{path: "bench/README.md", words: 3000},
	{path: "docs/dev/design/differences.md", words: 2000},

	{path: "docs/dev/how-a-call-becomes-an-action.md", words: 900},
	{path: "docs/dev/layout.md", prose: 1500},
	{path: "docs/dev/performance.md", words: 800},
	{path: "docs/dev/", words: 2000},
	{path: "docs/reference/"},
	{path: "docs/", words: 2000},
	{path: "examples/", words: 2000},
}

// sentenceWords is the average length of the sentences of a page, at most.
const sentenceWords = 25

// TestPages counts the words of each page, and the words of its sentences.
func TestPages(t *testing.T) {
	used := map[string]bool{}
	for _, path := range pages(t) {
		for _, limit := range pageLimits {
			if path != limit.path && !(strings.HasSuffix(limit.path, "/") && strings.HasPrefix(path, limit.path)) {
				continue
			}
			used[limit.path] = true
			checkPage(t, path, readFile(t, "../../"+path), limit)
			break
		}
	}
	for _, limit := range pageLimits {
		if !used[limit.path] {
			t.Errorf("no page has the limit of %s; remove its row", limit.path)
		}
	}
}

func checkPage(t *testing.T, path, text string, limit pageLimit) {
	if n := words(text); limit.words > 0 && n > limit.words {
		t.Errorf("%s has %d words; the limit is %d", path, n, limit.words)
	}
	if limit.prose > 0 {
		before, rest, _ := strings.Cut(text, layoutBegin)
		_, after, ok := strings.Cut(rest, layoutEnd)
		if n := words(before + after); !ok || n > limit.prose {
			t.Errorf("%s has %d words around its generated part; the limit is %d", path, n, limit.prose)
		}
	}
	n, all, longest := 0, 0, ""
	for _, s := range sentences(text) {
		n++
		all += words(s)
		if words(s) > words(longest) {
			longest = s
		}
	}
	if all > sentenceWords*n {
		t.Errorf("%s: its %d sentences have %.1f words on average; the limit is %d. The longest:\n%s", path, n, float64(all)/float64(n), sentenceWords, longest)
	}
}

// TestChangelog: the changes are in parts by task, and then in one table what a project of an
// earlier build needs, each row with what to write or to run. An earlier change is in git.
func TestChangelog(t *testing.T) {
	text := readFile(t, "../../CHANGELOG.md")
	parts := strings.Split(text, "\n## ")
	if len(parts) != 3 || !strings.HasPrefix(parts[2], "Before\n") {
		t.Fatalf("CHANGELOG.md has %d sections; it has one of the version, and Before", len(parts)-1)
	}
	if tasks := regexp.MustCompile(`(?m)^\*\*(.+)\*\*$`).FindAllString(parts[1], -1); len(tasks) < 5 {
		t.Errorf("its parts are only %q", tasks)
	}
	rows := 0
	for line := range strings.Lines(parts[2]) {
		cells := strings.Split(codeSpan.ReplaceAllString(strings.Trim(line, "|\n"), "`code`"), "|")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| What changed") {
			continue
		}
		rows++
		if len(cells) != 2 || !strings.Contains(cells[1], "`code`") {
			t.Errorf("this row of Before does not state what to do: %s", line)
		}
	}
	if rows < 10 {
		t.Errorf("Before has only %d rows", rows)
	}
}

// TestSentences shows what is a sentence of a page.
func TestSentences(t *testing.T) {
	page := "# A title of a page\n\nOne sentence, e.g. of `a. b` here. Another\nin two lines\n- an item of a list: with more\n- another. And more.\n\n" +
		"```sh\nrye sign x  # no sentence.\n```\n\n<!--\nnot shown. Never.\n-->\n| A | B |\n|---|---|\n| `rye` | A cell of a table is text, too. And so on |\n| no text | a name |\n"
	want := []string{"One sentence, e.g. of `code` here.", "Another in two lines", "an item of a list: with more", "another.", "And more.", "A cell of a table is text, too.", "And so on"}
	if got := sentences(page); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// sentences returns the sentences of a page in markdown: of its paragraphs, of its lists, and
// of the cells of its tables that have at least one space. Code in a text is one word.
func sentences(page string) []string {
	var parts []string
	fenced, open := false, false
	for line := range strings.Lines(withoutComments(page)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			fenced, open = !fenced, false
			continue
		}
		item := listItem.FindString(line)
		switch {
		case fenced:
		case line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "|--"):
			open = false
		case strings.HasPrefix(line, "|"):
			open = false
			for _, cell := range strings.Split(codeSpan.ReplaceAllString(strings.Trim(line, "|"), "`code`"), "|") {
				if cell = strings.TrimSpace(cell); words(cell) >= cellWords {
					parts = append(parts, cell)
				}
			}
		case item != "" || !open:
			parts, open = append(parts, line[len(item):]), true
		default:
			parts[len(parts)-1] += " " + line
		}
	}
	var out []string
	for _, p := range parts {
		p = sentenceEnd.ReplaceAllString(codeSpan.ReplaceAllString(p, "`code`"), "$1\n$2")
		out = append(out, strings.Split(p, "\n")...)
	}
	return out
}

// cellWords is how many words a cell of a table has, at least, that is a text and not a name.
const cellWords = 8

var (
	listItem    = regexp.MustCompile(`^([-*]|[0-9]+\.) `)
	codeSpan    = regexp.MustCompile("`[^`]*`")
	sentenceEnd = regexp.MustCompile("([.!?][)\"”*]*) +([A-Z`*“\\[(])")
	pageComment = regexp.MustCompile(`(?s)<!--.*?-->`)
)

// words returns the number of words that a reader sees: without the lines of tables, and with
// the code in blocks.
func words(page string) int {
	n := 0
	for _, f := range strings.Fields(withoutComments(page)) {
		if strings.ContainsFunc(f, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

// withoutComments returns the text that a reader sees.
func withoutComments(page string) string {
	return pageComment.ReplaceAllString(page, "")
}

// pages returns the paths of all pages in markdown, except for tests and for items.
func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel("../..", path)
		rel = filepath.ToSlash(rel)
		name := d.Name()
		if d.IsDir() && rel != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || rel == "docs/reference/format/examples") {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(name, ".md") {
			out = append(out, rel)
		}
		return nil
	})
	if err != nil || len(out) < 40 {
		t.Fatal(len(out), err)
	}
	return out
}
