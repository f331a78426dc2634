package report

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/policy"
)

// ConfigID is the configuration with the patterns of notices.
const ConfigID = "review/notices"

// Rules are the patterns that reports point out.
type Rules struct {
	patterns []pattern
	fetches  [][]string // the first words of commands that fetch code
}

// pattern is one kind of notice.
type pattern struct {
	id    string
	text  string
	match *regexp.Regexp
	prose bool // Markdown only
	words []string
}

// find returns the positions of the matches in a text, of which lower has the lower case.
// With words it searches the lines that contain one: most lines have none, and a search
// for fixed texts takes little time.
func (p pattern) find(text, lower string) (out [][]int) {
	// some letters have a lower case of another length, and positions would differ
	if p.words == nil || len(lower) != len(text) {
		return p.match.FindAllStringIndex(text, maxNotices)
	}
	for start := 0; start < len(text); {
		at := p.first(lower[start:])
		if at < 0 {
			break
		}
		at += start
		from := 1 + strings.LastIndexByte(text[:at], '\n')
		start = len(text)
		if end := strings.IndexByte(text[at:], '\n'); end >= 0 {
			start = at + end + 1
		}
		for _, found := range p.match.FindAllStringIndex(text[from:start], maxNotices) {
			out = append(out, []int{from + found[0], from + found[1]})
		}
		if len(out) >= maxNotices {
			break
		}
	}
	return out
}

// first returns the position of the first word, -1 for none.
func (p pattern) first(lower string) int {
	first := -1
	for _, word := range p.words {
		at := strings.Index(lower, word)
		if at >= 0 && (first < 0 || at < first) {
			first = at
			lower = lower[:at+len(word)]
		}
	}
	return first
}

// ReadRules reads the layers of ConfigID, the farthest first. A later layer replaces a
// list as a whole.
func ReadRules(layers []policy.Layer) (*Rules, error) {
	out := &Rules{}
	// the nearest layer decides
	for _, layer := range layers {
		r := tree.NewReader(layer.Doc, diag.ValidationFailed)
		// an empty list replaces the farther ones, too
		if r.Has("notices") {
			out.patterns = readPatterns(r)
		}
		if r.Has("fetches") {
			out.fetches = readFetches(layer.Doc)
		}
		err := diag.FromFindings("reading "+layer.Name, r.Findings())
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func readPatterns(r *tree.Reader) (out []pattern) {
	for _, entry := range r.Maps("notices") {
		p := pattern{
			id:    entry.Text("id"),
			text:  entry.Text("text"),
			prose: entry.Bool("prose", false),
			words: entry.Texts("words", nil),
		}
		match, err := regexp.Compile(entry.Text("pattern"))
		if err != nil {
			entry.Reject("pattern", "is not a pattern of RE2: %s", err)
			continue
		}
		p.match = match
		out = append(out, p)
	}
	return out
}

func readFetches(doc *tree.Doc) (out [][]string) {
	list, _ := doc.Root["fetches"].([]any)
	for _, entry := range list {
		var words []string
		parts, _ := entry.([]any)
		for _, part := range parts {
			word, _ := part.(string)
			words = append(words, word)
		}
		out = append(out, words)
	}
	return out
}

// fetch reports whether a command fetches code.
func (r *Rules) fetch(args []string) bool {
	return slices.ContainsFunc(r.fetches, func(words []string) bool {
		return len(args) >= len(words) && slices.Equal(args[:len(words)], words)
	})
}
