package extract

import "bytes"

// MayHold reports whether a file can have a field, from a look that costs next
// to nothing: no key is read that is not written out in the file, except with
// escapes. When it says no, Read finds no such field.
func (e *Extractor) MayHold(field string, src []byte) bool {
	if bytes.IndexByte(src, '\\') >= 0 || bytes.Contains(src, []byte(field)) {
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
