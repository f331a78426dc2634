package auditlog

import (
	"fmt"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/chainlog"
)

// Entry is the record of one signature. Append sets Seq, Time and Prev.
type Entry struct {
	Seq     int64  `json:"seq"`               // 1, 2, 3, …
	Time    string `json:"time"`              // when it was appended: UTC, whole seconds
	Surface string `json:"surface"`           // the caller's surface, such as cli
	Use     string `json:"use"`               // the use of the signature, such as sign
	Kind    string `json:"kind"`              // of the item or document
	ID      string `json:"id"`                // of the item or document
	Space   string `json:"space"`             // such as project
	Project string `json:"project,omitempty"` // the project's directory, if there is one
	Digest  string `json:"digest"`            // "sha256:" and the hash of the whole signed file
	Key     string `json:"key"`               // the fingerprint of the key, 64 digits
	Prev    string `json:"prev"`              // "sha256:" and the hash of the line before, line feed included
}

// maxLine is the longest line, in bytes with its line feed.
const maxLine = 32 << 10

const (
	layout  = "2006-01-02T15:04:05Z"
	maxWord = 64
	maxName = 1024
)

// render returns the line of e with its line feed. It returns an error for an
// entry that parse would refuse.
func (e Entry) render() ([]byte, error) {
	e.Project = strings.ToValidUTF8(e.Project, "\ufffd")
	b, err := e.line()
	if err != nil {
		return nil, err
	}
	_, err = parse(b)
	return b, err
}

// line returns e as JSON with its line feed. Hidden characters, which only the path
// of a project can have, are escaped.
func (e Entry) line() ([]byte, error) {
	return chainlog.Render(e)
}

// parse reads a line with its line feed.
func parse(line []byte) (Entry, error) {
	var e Entry
	err := chainlog.Parse(line, maxLine, "entry", &e)
	if err != nil {
		return Entry{}, err
	}
	return e, e.check()
}

// check validates every field.
func (e *Entry) check() error {
	if e.Seq < 1 {
		return fmt.Errorf("seq is %d", e.Seq)
	}
	for _, f := range []struct {
		name, value string
		fits        func(string) bool
	}{
		{"time", e.Time, isTime}, {"surface", e.Surface, isWord}, {"use", e.Use, isWord}, {"kind", e.Kind, isWord}, {"id", e.ID, isName},
		{"space", e.Space, isName}, {"digest", e.Digest, chainlog.IsDigest}, {"key", e.Key, isHash}, {"prev", e.Prev, chainlog.IsDigest},
	} {
		if !f.fits(f.value) {
			return fmt.Errorf("%s is %q", f.name, f.value)
		}
	}
	return nil
}

func isTime(s string) bool {
	t, err := time.Parse(layout, s)
	return err == nil && t.Format(layout) == s
}

// isWord accepts lower-case letters, digits, - and _.
func isWord(s string) bool {
	return s != "" && len(s) <= maxWord && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// isName accepts printable ASCII without blanks.
func isName(s string) bool {
	return s != "" &&
		len(s) <= maxName &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return r <= ' ' || r > '~'
		})
}

func isHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
