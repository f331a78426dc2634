package mdterm

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// The parameters of the escape sequences. The terminal chooses the colours.
const (
	bold      = "1"
	dim       = "2"
	italic    = "3"
	underline = "4"
	red       = "31"
	green     = "32"
	cyan      = "36"
)

// span is a text with its styles.
type span struct {
	text   string
	styles string // separated by semicolons
	solid  bool   // it is not divided at blanks
	ends   bool   // the line ends here
}

// with adds a style, if the stream has styles, and colours if it has those.
func (s *Stream) with(styles, style string) string {
	if !s.style.Marks ||
		!s.style.Color && style[0] == '3' && len(style) > 1 {
		return styles
	}
	if styles == "" {
		return style
	}
	return styles + ";" + style
}

func (s *Stream) paint(text, style string) string {
	return painted(text, s.with("", style))
}

func (s *Stream) dim(text string) string {
	return s.paint(text, dim)
}

func painted(text, styles string) string {
	if styles == "" || text == "" {
		return text
	}
	return "\x1b[" + styles + "m" + text + "\x1b[m"
}

// word is a part of a line that is not divided.
type word struct {
	spans []span
	width int
	blank bool // before it
	ends  bool // a line ends after it
}

// wrapped returns spans as lines of at most the width of the stream. first and rest are before
// the first line and the others; they can be styled. A word that is wider than a line has a
// line of its own, so that an address or a path can be copied.
func (s *Stream) wrapped(spans []span, first, rest string) []string {
	return fill(
		words(spans, s.style.Width-ansi.StringWidth(rest)),
		s.style.Width,
		first,
		rest,
	)
}

func fill(list []word, limit int, first, rest string) []string {
	var out []string
	var line []span
	prefix := first
	width := ansi.StringWidth(first)
	begin := width
	end := func() {
		out = append(out, strings.TrimRight(prefix+joined(line), " "))
		prefix = rest
		line = nil
		width = ansi.StringWidth(rest)
		begin = width
	}
	for i := range list {
		w := &list[i]
		blank := 0
		if w.blank && width > begin {
			blank = 1
		}
		if limit > 0 && width > begin && width+blank+w.width > limit {
			end()
			blank = 0
		}
		if blank > 0 {
			line = append(line, space(line, w))
		}
		line = append(line, w.spans...)
		if width += blank + w.width; w.ends {
			end()
		}
	}
	if len(line) > 0 || len(out) == 0 {
		end()
	}
	return out
}

// space is the blank between two words. It has a style only within a text of this style.
func space(line []span, w *word) span {
	if len(line) > 0 &&
		len(w.spans) > 0 &&
		line[len(line)-1].styles == w.spans[0].styles {
		return span{text: " ", styles: w.spans[0].styles}
	}
	return span{text: " "}
}

// joined writes spans, with one escape sequence for spans of one style that follow each other.
func joined(line []span) string {
	var out strings.Builder
	for i := 0; i < len(line); {
		text := line[i].text
		n := i + 1
		for ; n < len(line) && line[n].styles == line[i].styles; n++ {
			text += line[n].text
		}
		out.WriteString(painted(text, line[i].styles))
		i = n
	}
	return out.String()
}

// words divides spans at blanks, and between characters of two columns, which are written
// without blanks.
func words(spans []span, limit int) []word {
	var out []word
	var w word
	end := func() {
		if len(w.spans) > 0 || w.ends {
			out = append(out, w)
			w = word{}
		}
	}
	add := func(text string, of span, width int) {
		of.text = text
		w.spans = append(w.spans, of)
		w.width += width
	}
	for _, sp := range spans {
		if sp.ends {
			w.ends = true
			end()
			continue
		}
		if sp.solid && ansi.StringWidth(sp.text) <= max(limit, 1) {
			add(sp.text, sp, ansi.StringWidth(sp.text))
			continue
		}
		for i, part := range strings.Split(sp.text, " ") {
			if i > 0 {
				end()
				w.blank = true
			}
			for part != "" {
				n, width := wordEnd(part)
				if n == 0 { // a wide character
					n, width = cluster(part)
					if len(w.spans) > 0 {
						end()
					}
				}
				add(part[:n], sp, width)
				part = part[n:]
			}
		}
	}
	end()
	return out
}

// wordEnd returns the bytes and columns before the first character of two columns.
func wordEnd(s string) (n, width int) {
	if isASCII(s) {
		return len(s), len(s)
	}
	for n < len(s) {
		size, w := cluster(s[n:])
		if w > 1 {
			return n, width
		}
		n = n + size
		width = width + w
	}
	return n, width
}

// cluster returns the bytes and columns of the first character of a text.
func cluster(s string) (n, width int) {
	c, width := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return max(len(c), 1), width
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
