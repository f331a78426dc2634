// Package mdmeta finds the parts of a markdown item: front matter, the fenced
// block that holds its metadata, title and first paragraph.
//
// It parses neither YAML nor XML and is no markdown renderer.
package mdmeta

// Block is a fenced block and what surrounds it.
type Block struct {
	Inner  []byte // the text between the fences
	Line   int    // 1-based line of the inner text's start
	Before []byte // everything before the opening fence line
	After  []byte // everything after the closing fence line
	Closed bool   // false when the file ends inside the block
}

// FrontMatter returns what stands between "---" lines at the start of src,
// after an optional signature comment, with the 1-based line where it starts.
// When the closing line is missing, ok is false and line is not zero.
func FrontMatter(src []byte) (meta []byte, line int, body []byte, ok bool) { return nil, 0, src, false }

// Fence returns the first fenced block of that language.
func Fence(src []byte, lang string) (Block, bool) { return Block{}, false }

// DirectiveFence returns the first xml block; it ends at the first closing
// fence after </directive>.
func DirectiveFence(src []byte) (Block, bool) { return Block{}, false }

// Title returns the first "# " heading and its line, or "" and 0.
func Title(src []byte) (string, int) { return "", 0 }

// Description returns the first paragraph as one line and where it starts.
func Description(src []byte) (string, int) { return "", 0 }
