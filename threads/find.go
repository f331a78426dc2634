package threads

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/transcript"
)

// maxSnippet is the length of the text around a match, in bytes.
const maxSnippet = 500

// Query selects lines of transcripts.
type Query struct {
	Text   string
	Regex  bool     // Text is an RE2 expression; otherwise upper and lower case are equal
	Events []string // only of these events; empty is every event
	Most   int
}

// Hit is a line that a query matches.
type Hit struct {
	Thread  string `json:"thread_id"`
	Seq     int64  `json:"seq"`
	Event   string `json:"event"`
	Snippet string `json:"snippet"`
}

// Find returns the lines of the transcripts of some threads that a query matches, in the
// order of the threads and of their lines. truncated is true if there are more.
func Find(project string, ids []string, q Query) (hits []Hit, truncated bool, err error) {
	pattern := "(?i)" + regexp.QuoteMeta(q.Text)
	if q.Regex {
		pattern = q.Text
	}
	match, err := regexp.Compile(pattern)
	if err != nil || q.Text == "" {
		return nil, false, diag.New(diag.ValidationFailed, "searching transcripts: %q is not an RE2 expression that matches a text", q.Text)
	}
	wanted := map[string]bool{}
	for _, e := range q.Events {
		wanted[e] = true
	}
	hits = []Hit{}
	for _, id := range ids {
		lines, err := transcript.Read(project, id)
		if err != nil {
			return nil, false, err
		}
		for i := range lines {
			l := &lines[i]
			if len(wanted) > 0 && !wanted[l.Event] {
				continue
			}
			data, err := dataOf(project, id, l)
			if err != nil {
				return nil, false, err
			}
			at := match.FindIndex(data)
			if at == nil {
				continue
			}
			if len(hits) == q.Most {
				return hits, true, nil
			}
			hits = append(hits, Hit{id, l.Seq, l.Event, snippet(data, at)})
		}
	}
	return hits, false, nil
}

// snippet returns the text around a match, without a part of a character.
func snippet(data []byte, at []int) string {
	first := max(0, min(at[0]-maxSnippet/4, len(data)-maxSnippet))
	last := min(len(data), first+maxSnippet)
	for first < last && !utf8.RuneStart(data[first]) {
		first++
	}
	return strings.ToValidUTF8(string(data[first:last]), "")
}
