package legacy

import (
	"regexp"
	"strings"
	"sync"
)

// Line is a signature line of the earlier format.
type Line struct {
	Number         int    // 1, or 2 after a "#!/" line
	Time           string // set by the signer; not signed
	Hash           string // 64 digits
	Sig            string // base64 of the URL alphabet, padded
	Key            string // 16 digits
	Provider, User string // of the note after the key; not signed
	Junk           string // the rest of the line

	end int // offset of the end of the parsed part
}

const fields = `(\p{Nd}{4}-\p{Nd}{2}-\p{Nd}{2}T\p{Nd}{2}:\p{Nd}{2}:\p{Nd}{2}Z):([a-f0-9]{64}):([A-Za-z0-9_-]+={0,2}):([a-f0-9]{16})(?:\|([a-zA-Z0-9_-]+)@([a-zA-Z0-9_-]+))?`

// The digits of a time may be of any script, and the line of a tool may have text
// after its fields: the earlier program accepted both.
var (
	markdownLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^<!-- rye:signed:` + fields + ` -->`)
	})
	hashLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^# rye:signed:` + fields)
	})
	slashLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^// rye:signed:` + fields)
	})
)

// inMarkdown reports whether signatures of the kind were in markup comments,
// independent of the extension of the file.
func inMarkdown(kind string) bool {
	return kind == "directive" || kind == "knowledge"
}

// shebang returns the first line with its line feed if it begins with "#!/". The
// earlier program recognized no other form.
func shebang(text string) string {
	if !strings.HasPrefix(text, "#!/") {
		return ""
	}
	return text[:strings.IndexByte(text, '\n')+1]
}

// find returns the signature line from the position where the earlier program
// searched for it.
func find(kind, text string) (Line, bool) {
	l := Line{Number: 1}
	head := ""
	var m []string
	if inMarkdown(kind) {
		m = markdownLine().FindStringSubmatch(text)
	} else {
		head = shebang(text)
		m = toolLine(text[len(head):])
	}
	if m == nil {
		return Line{}, false
	}
	l.Number += strings.Count(head, "\n")
	l.end = len(head) + len(m[0])
	l.Time = m[1]
	l.Hash = m[2]
	l.Sig = m[3]
	l.Key = m[4]
	l.Provider = m[5]
	l.User = m[6]
	l.Junk, _, _ = strings.Cut(text[l.end:], "\n")
	return l, true
}

// toolLine matches the line of a tool. Later versions wrote "//" in JavaScript.
func toolLine(text string) []string {
	if m := hashLine().FindStringSubmatch(text); m != nil {
		return m
	}
	return slashLine().FindStringSubmatch(text)
}

// whyNone returns why find found no line in a file with a mark.
func whyNone(kind, text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	second, _, _ := strings.Cut(rest, "\n")
	switch {
	case strings.HasPrefix(text, "\ufeff"):
		return "a byte order mark before the signature: the earlier program found no signature after one"
	case older(first) || older(second):
		return "its mark is older than signatures: nothing was signed"
	case inMarkdown(kind) && strings.HasPrefix(first, "# rye:signed:"):
		return "a " + kind + " had its signature in <!-- -->, this file has it after #"
	case !inMarkdown(kind) && strings.HasPrefix(first, "<!-- rye:signed:"):
		return "a " + kind + " had its signature after #, this file has it in <!-- -->"
	case strings.HasPrefix(first, "#!") && !strings.HasPrefix(first, "#!/"):
		return "line 2 was a signature only after a first line that begins with #!/"
	}
	return "the line is not written as the earlier program wrote it"
}

// older reports whether a line begins with a mark that is older than signatures.
func older(line string) bool {
	for _, open := range [...]string{"# ", "<!-- "} {
		rest, ok := strings.CutPrefix(line, open)
		if ok && (strings.HasPrefix(rest, "kiwi-mcp:") || strings.HasPrefix(rest, "rye:validated:")) {
			return true
		}
	}
	return false
}
