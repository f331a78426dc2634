package export

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/item"
)

// RecordPath is the file that lists every copy that rye wrote, as sha256sum does.
const RecordPath = ".ai/adopted/SHA256SUMS"

// maxRecord is how many bytes the record may have.
const maxRecord = 16 << 20

// record has the digest of each copied file.
type record map[string]item.Digest

// readRecord reads the record. Without a file nothing was written.
func readRecord(d *openat.Dir) (record, error) {
	b, _, err := d.Read(RecordPath, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil
	} else if err != nil {
		return nil, err
	}
	return parseRecord(b)
}

// Recorded reports whether a project has a record of copies.
func Recorded(base string) bool {
	_, err := os.Lstat(filepath.Join(base, filepath.FromSlash(RecordPath)))
	return err == nil
}

// parseRecord reads exactly the texts of render: sha256sum must read the same files.
func parseRecord(b []byte) (record, error) {
	out := record{}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		p, d, err := parseLine(line)
		if err != nil || wrongCopy(p) {
			return nil, wrongLine(n)
		}
		out[p] = d
	}
	// one text for one record: a merge that reorders lines must be seen
	if string(out.render()) != string(b) {
		return nil, diag.New(diag.ParsingError, "reading %s: its lines are not sorted, or one is repeated", RecordPath)
	}
	return out, nil
}

// parseLine reads a digest and a path, which two blanks divide.
func parseLine(line string) (p string, d item.Digest, err error) {
	line = strings.TrimSuffix(line, "\n")
	digits, p, _ := strings.Cut(line, "  ")
	d, err = item.ParseDigest("sha256:" + digits)
	return p, d, err
}

func wrongLine(n int) error {
	f := diag.Errorf(diag.ParsingError, n, 1, "it is not a digest and the path of a copy")
	f.Path = RecordPath
	return diag.FromFindings("reading the record of copies", []diag.Finding{f})
}

// wrongCopy reports whether a path cannot be a copy. The record is in the repository: it
// must not lead a later command to files that are not copies.
func wrongCopy(p string) bool {
	first, _, below := strings.Cut(p, "/")
	first = strings.ToLower(first)
	return openat.CheckRel(p) != nil || !below || first == ".git" || first == ".ai"
}

func (r record) render() []byte {
	var out []byte
	for _, p := range slices.Sorted(maps.Keys(r)) {
		d := r[p]
		out = hex.AppendEncode(out, d[:])
		out = append(out, "  "+p+"\n"...)
	}
	return out
}
