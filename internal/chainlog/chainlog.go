// Package chainlog has the rules that logs of hash-chained lines have in common: each
// line has a sequence number and the hash of the line before it, a head records where
// the log ends, and a line that a stopped process did not finish is recognised.
//
// It does not open files, does not lock them, and does not know what a line records:
// a Format reads the two fields of a line. A process that can write the log can also
// replace the whole log together with its head; only a signature of the head shows
// that, which is made elsewhere.
package chainlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/ryeos/rye/internal/jsonx"
)

// Format describes the lines of a log.
type Format struct {
	Genesis string // in the position of the line before the first one; it is not in the file
	MaxLine int    // bytes of the longest line with its line feed
	Head    string // the name of the head in messages
	// Link reads the chain's fields of a whole line with its line feed. The text of an
	// error completes "line 7: ".
	Link func(line []byte) (Link, error)
	// Repair states what removes an incomplete last line: "the next signature removes it".
	Repair string
	Reason string // of the findings, a key of the hints
}

// Link is the chain's fields of a line.
type Link struct {
	Seq  int64  // 1, 2, 3, …
	Prev string // the Digest of the line before
}

const digestHead = "sha256:"

// Digest returns the hash of a line with its line feed, as the next line names it.
func Digest(line []byte) string {
	sum := sha256.Sum256(line)
	return digestHead + hex.EncodeToString(sum[:])
}

// IsDigest reports whether s has the form of a Digest.
func IsDigest(s string) bool {
	hash, ok := strings.CutPrefix(s, digestHead)
	return ok && len(hash) == 2*sha256.Size && strings.Trim(hash, "0123456789abcdef") == ""
}

// Head is the end of a log. Without a recorded one the removal of the last lines
// would not be noticed.
type Head struct {
	Seq  int64  `json:"seq"`  // of the last line
	Size int64  `json:"size"` // of the log, in bytes
	Last string `json:"last"` // the hash of the last line
}

// Start returns the head of a log without lines.
func (f *Format) Start() Head {
	return Head{Last: Digest([]byte(f.Genesis))}
}

// ParseHead reads the content of a head file. known is false for what Render does
// not write, such as a file that a loss of power damaged; the log is then read from
// its beginning.
func (f *Format) ParseHead(b []byte) (h Head, known bool) {
	if json.Unmarshal(b, &h) != nil ||
		h.Seq < 1 ||
		h.Size < 1 ||
		!IsDigest(h.Last) ||
		!bytes.Equal(h.Render(), b) {
		return f.Start(), false
	}
	return h, true
}

// Render returns the content of a head file.
func (h Head) Render() []byte {
	b, _ := jsonx.Marshal(h)
	return append(b, '\n')
}

// After returns the head after a line was appended.
func (h Head) After(line []byte) Head {
	return Head{Seq: h.Seq + 1, Size: h.Size + int64(len(line)), Last: Digest(line)}
}

// The errors of Settle.
var (
	ErrCut     = errors.New("was cut")
	ErrAltered = errors.New("was altered")
)

// Settle compares the end of a log with its head and returns the actual end. Whole
// lines after the head are accepted: a process was stopped between writing them and
// writing the head. torn is the size of an unfinished last line, which the caller
// removes. ErrCut and ErrAltered mean damage.
func (f *Format) Settle(file *os.File, h Head) (end Head, torn int64, err error) {
	fi, err := file.Stat()
	if err != nil {
		return h, 0, err
	}
	last, err := f.lineBefore(file, min(h.Size, fi.Size()))
	switch {
	case err != nil:
		return h, 0, err
	case fi.Size() < h.Size:
		return h, 0, ErrCut
	case h.Size > 0 && Digest(last) != h.Last:
		return h, 0, ErrAltered
	}
	end, err = f.Follow(
		io.NewSectionReader(file, h.Size, fi.Size()-h.Size),
		h,
	)
	return end, fi.Size() - end.Size, err
}

// Follow reads the chain from h to the last whole line and returns its head.
func (f *Format) Follow(r io.Reader, h Head) (Head, error) {
	err := f.EachLine(r, func(line []byte, whole bool) error {
		if !whole {
			return nil // an unfinished line is the last one
		}
		l, err := f.Link(line)
		if err != nil || l.Seq != h.Seq+1 || l.Prev != h.Last {
			return ErrAltered
		}
		h = h.After(line)
		return nil
	})
	return h, err
}

// Write appends text at end. With sync it returns when the text is on the disk.
// After an error it truncates the file to its former length.
func Write(file *os.File, text []byte, end int64, sync bool) error {
	_, err := file.WriteAt(text, end)
	if err == nil && sync {
		err = file.Sync()
	}
	if err != nil {
		return errors.Join(err, file.Truncate(end))
	}
	return nil
}
