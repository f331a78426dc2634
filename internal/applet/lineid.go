package applet

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"

	"github.com/ryeos/rye/diag"
)

// idLength is the number of base-32 characters of a line id: 50 bits.
const idLength = 10

// lineIDs returns the id of every line, derived from the file alone.
//
// The id of a line whose text stands once in the file is the hash of that
// text: nothing that happens elsewhere changes it. A text that stands several
// times ("}", an empty line) is told apart by where it is: the nearest unique
// line above, the nearest one below, which of the equal lines between these
// two it is, and how many there are. So
//
//   - ids do not depend on line numbers, nor on which part of a file was read;
//   - an edit elsewhere keeps them;
//   - an edit that could make an id mean another line (a copy of a unique
//     line, one more "}" in the same stretch) makes it unknown instead. Counting
//     equal lines from the top of the file would silently point to a neighbour.
//
// Line endings are not part of the text: a change from LF to CRLF keeps ids.
func lineIDs(lines []line) []string {
	ids := make([]string, len(lines))
	times := make(map[string]int, len(lines))
	for _, l := range lines {
		times[l.text]++
	}
	start, above := 0, sha256.Sum256([]byte("\x00top")) // no line holds a NUL
	for i := 0; i <= len(lines); i++ {
		if i < len(lines) && times[lines[i].text] > 1 {
			continue
		}
		below := sha256.Sum256([]byte("\x00end"))
		if i < len(lines) {
			below = sha256.Sum256([]byte(lines[i].text))
			ids[i] = lineHash("unique", string(below[:]))
		}
		repeatedIDs(lines[start:i], ids[start:i], above, below)
		start, above = i+1, below
	}
	return ids
}

// repeatedIDs fills in the ids of a stretch between two unique lines, given
// by their digests: a huge one must not be hashed for every line of it.
func repeatedIDs(lines []line, ids []string, above, below [sha256.Size]byte) {
	total := make(map[string]uint32, len(lines))
	for _, l := range lines {
		total[l.text]++
	}
	seen := make(map[string]uint32, len(total))
	for i, l := range lines {
		seen[l.text]++
		var place [8]byte
		binary.BigEndian.PutUint32(place[:4], seen[l.text])
		binary.BigEndian.PutUint32(place[4:], total[l.text])
		ids[i] = lineHash("repeated", l.text, string(above[:]), string(below[:]), string(place[:]))
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

// bareID accepts an id as read shows it: "[LID:x]", "LID:x" or "x".
func bareID(s string) string {
	s = strings.TrimSpace(s)
	s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	return strings.ToLower(strings.TrimPrefix(s, "LID:"))
}

// idIndex finds lines by id.
type idIndex struct {
	at    map[string]int
	twice map[string]bool // ids that two lines share, by a collision of hashes
}

func indexIDs(lines []line) idIndex {
	x := idIndex{at: make(map[string]int, len(lines)), twice: map[string]bool{}}
	for i, id := range lineIDs(lines) {
		if _, ok := x.at[id]; ok {
			x.twice[id] = true
		}
		x.at[id] = i
	}
	return x
}

// find returns the line's index; a miss is noted under key.
func (x idIndex) find(a args, key, id string) int {
	i, ok := x.at[bareID(id)]
	switch {
	case x.twice[bareID(id)]:
		a.add(diag.Errorf(diag.ValidationFailed, 0, 0, "%s%s: id %q names two lines", a.prefix, key, id))
	case !ok:
		a.add(diag.Errorf(diag.ValidationFailed, 0, 0, "%s%s: no line of the file has id %q now", a.prefix, key, id))
	}
	return i
}
