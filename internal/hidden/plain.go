package hidden

import "encoding/binary"

const (
	low7  = 0x7f7f7f7f7f7f7f7f
	high1 = 0x8080808080808080
	ones  = 0x0101010101010101
)

// plain returns the index of the first byte at or after i that is not
// printable ASCII, TAB or LF, or len(b). It checks eight bytes at a time: most
// files of most projects contain nothing else.
func plain(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if unusual(binary.LittleEndian.Uint64(b[i:])) {
			break
		}
	}
	for ; i < len(b); i++ {
		c := b[i]
		if c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' {
			return i
		}
	}
	return i
}

// unusual reports whether any of the eight bytes in x may not be plain. Within
// seven bits no sum carries into the next byte; with a high bit set the result is
// true.
func unusual(x uint64) bool {
	if x&high1 != 0 {
		return true
	}
	visible := x + 0x60*ones // high bit: >= 0x20
	notLF := (x ^ '\n'*ones) + low7
	notTab := (x ^ '\t'*ones) + low7
	notDEL := (x ^ 0x7f*ones) + low7
	return (^visible&notLF&notTab|^notDEL)&high1 != 0
}
