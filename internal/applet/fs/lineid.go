package fs

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"

	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/applet/wire"
)

// idLength is the number of base-32 characters of a line id: 50 bits.
const idLength = 10

// lineIDs returns the id of every line, derived from the file alone.
//
// If a text appears once in the file, its id is the hash of the text: edits
// elsewhere do not change it. A text that appears several times ("}", an empty
// line) also has its position in the hash: the nearest unique line above, the
// nearest one below, its number among the equal lines between these two, and
// how many those are. So
//
//   - ids do not depend on line numbers or on the part of a file that was read;
//   - an edit elsewhere keeps them;
//   - an edit that could give an id to another line (a copy of a unique line,
//     one more "}" in the same stretch) makes the id unknown. Counting equal
//     lines from the top of the file would silently select another line.
//
// Line endings are not part of the text: a change from LF to CRLF keeps ids.
func lineIDs(lines []files.Line) []string {
	ids := make([]string, len(lines))
	times := make(map[string]int, len(lines))
	for _, l := range lines {
		times[l.Text]++
	}
	// no line contains a NUL
	start := 0
	above := sha256.Sum256([]byte("\x00top"))
	for i := 0; i <= len(lines); i++ {
		if i < len(lines) && times[lines[i].Text] > 1 {
			continue
		}
		below := sha256.Sum256([]byte("\x00end"))
		if i < len(lines) {
			below = sha256.Sum256([]byte(lines[i].Text))
			ids[i] = lineHash("unique", string(below[:]))
		}
		repeatedIDs(lines[start:i], ids[start:i], above, below)
		start = i + 1
		above = below
	}
	return ids
}

// repeatedIDs sets the ids of a stretch between two unique lines, given by
// their digests: a huge line must not be hashed again for every line of it.
func repeatedIDs(lines []files.Line, ids []string, above, below [sha256.Size]byte) {
	total := make(map[string]uint32, len(lines))
	for _, l := range lines {
		total[l.Text]++
	}
	seen := make(map[string]uint32, len(total))
	for i, l := range lines {
		seen[l.Text]++
		var position [8]byte
		binary.BigEndian.PutUint32(position[:4], seen[l.Text])
		binary.BigEndian.PutUint32(position[4:], total[l.Text])
		ids[i] = lineHash(
			"repeated",
			l.Text,
			string(above[:]),
			string(below[:]),
			string(position[:]),
		)
	}
}

// lineHash hashes parts, each with its length in front.
func lineHash(parts ...string) string {
	h := sha256.New()
	h.Write([]byte("rye line id 1\n"))
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	s := base32.StdEncoding.EncodeToString(h.Sum(nil)[:10])
	return strings.ToLower(s[:idLength])
}

// bareID returns the id of "[LID:x]", which read prints, of "LID:x" and of "x".
func bareID(s string) string {
	s = strings.TrimSpace(s)
	s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	return strings.ToLower(strings.TrimPrefix(s, "LID:"))
}

// idIndex finds lines by id.
type idIndex struct {
	at    map[string]int
	twice map[string]bool // ids that two lines share: a collision of hashes
}

func indexIDs(lines []files.Line) idIndex {
	x := idIndex{at: make(map[string]int, len(lines)), twice: map[string]bool{}}
	for i, id := range lineIDs(lines) {
		if _, ok := x.at[id]; ok {
			x.twice[id] = true
		}
		x.at[id] = i
	}
	return x
}

// find returns the line's index. A problem is added under key.
func (x idIndex) find(a wire.Args, key, id string) int {
	i, ok := x.at[bareID(id)]
	switch {
	case x.twice[bareID(id)]:
		a.Reject(key, "%q is the id of two lines", id)
	case !ok:
		a.Reject(key, "%q is not the id of a line of the current file (read with line_ids returns them)", id)
	}
	return i
}
