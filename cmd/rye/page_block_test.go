package main

import "strings"

// A pageBlock is a block of a page, with the number of its first line.
type pageBlock struct {
	at                int
	info, title, body string
	hidden            bool // in a comment
}

// pageBlocks returns the blocks of a page.
func pageBlocks(text string) (out []pageBlock) {
	lines := strings.Split(text, "\n")
	hidden := false
	for i := 0; i < len(lines); i++ {
		switch {
		case strings.HasPrefix(lines[i], "<!--"):
			hidden = !strings.Contains(lines[i], "-->")
		case strings.HasPrefix(lines[i], "-->"):
			hidden = false
		}
		info := strings.TrimLeft(lines[i], "`")
		fence := lines[i][:len(lines[i])-len(info)]
		if len(fence) < 3 {
			continue
		}
		b := pageBlock{at: i + 2, info: info, hidden: hidden}
		if language, title, ok := strings.Cut(info, ` title="`); ok {
			b.info, b.title = language, strings.TrimSuffix(title, `"`)
		}
		for i++; i < len(lines) && lines[i] != fence; i++ {
			b.body += lines[i] + "\n"
		}
		out = append(out, b)
	}
	return out
}
