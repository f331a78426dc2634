package extract

import (
	"bytes"
	"slices"
)

// MayHold reports whether a file can have a field, from a look that costs next
// to nothing: no key is read that is not written out in the file, except with
// escapes, which the names of programs have none of. When it says no, Read finds
// no such field.
func (e *Extractor) MayHold(t FileType, field string, src []byte) bool {
	program := slices.Contains([]string{CodecPython, CodecHeaderHash, CodecHeaderSlash}, t.Codec)
	if !program && bytes.IndexByte(src, '\\') >= 0 || bytes.Contains(src, []byte(field)) {
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
