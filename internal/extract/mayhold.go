package extract

import (
	"bytes"
	"slices"
)

// MayHold reports whether a file can have a field, by a search for the text of its
// keys. It is much faster than Read. If it returns false, Read finds no such field:
// a key is written out in the file, or with escapes, which source code does not
// permit in names.
func (e *Extractor) MayHold(t FileType, field string, src []byte) bool {
	program := slices.Contains([]string{CodecPython, CodecHeaderHash, CodecHeaderSlash}, t.Codec)
	if !program && bytes.IndexByte(src, '\\') >= 0 ||
		bytes.Contains(src, []byte(field)) {
		return true
	}
	for _, r := range e.Rules {
		if r.Field != field {
			continue
		}
		for _, key := range r.From {
			if bytes.Contains(src, []byte(key)) {
				return true
			}
		}
	}
	return false
}
