// Package privatekey finds private keys in the bytes of files, whatever their names.
//
// It does not read files, and it does not verify that what looks like a key is one.
package privatekey

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"unicode/utf16"
)

// maxSource is the size in bytes up to which a text outside of .ai can have a key in it: the
// source of a test, or a page about keys. Larger files are logs, dumps and archives.
const maxSource = 64 << 10

// maxDecoded is the number of bytes in base64 that are decoded for one key.
const maxDecoded = 32 << 10

// Line returns the line where a private key begins in a file, 0 if there is none. The text
// can be UTF-16. With anywhere, each key is found. Otherwise a text of at most maxSource bytes
// is one that begins with a key; in larger files and in those that are not text, a whole key is
// found anywhere, and so is one in base64 in every file.
func Line(b []byte, anywhere bool) int {
	if text := fromUTF16(b); text != nil {
		b = text
	}
	line := keyLine(b)
	switch {
	case line > 0 && (anywhere || line == firstText(b)):
		return line
	case line > 0 && (len(b) > maxSource || bytes.IndexByte(b, 0) >= 0):
		if whole := wholeKeyLine(b); whole > 0 {
			return whole
		}
	}
	return encodedKeyLine(b)
}

// fromUTF16 returns a text in UTF-16 as UTF-8, nil if b is something else. Without a byte
// order mark, every other byte of ASCII text is NUL.
func fromUTF16(b []byte) []byte {
	if len(b) < 4 {
		return nil
	}
	var order binary.ByteOrder
	begin := []byte("-----BEGIN ")
	switch {
	case b[0] == 0xff && b[1] == 0xfe:
		order = binary.LittleEndian
		b = b[2:]
	case b[0] == 0xfe && b[1] == 0xff:
		order = binary.BigEndian
		b = b[2:]
	default:
		wide := make([]byte, 0, 2*len(begin))
		for _, c := range begin {
			wide = append(wide, c, 0)
		}
		at := bytes.Index(b, wide)
		if at < 0 {
			return nil
		}
		// big-endian too: each letter is before the NUL of the next one
		order = binary.LittleEndian
		b = b[at%2:]
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

// wholeKeyLine returns the line of a key that begins and ends on lines of its own, 0 if there
// is none.
func wholeKeyLine(b []byte) int {
	line := 1
	for rest := b; ; {
		at := bytes.Index(rest, []byte("-----BEGIN "))
		if at < 0 {
			return 0
		}
		line += bytes.Count(rest[:at], []byte{'\n'})
		starts := at == 0 || rest[at-1] == '\n' || rest[at-1] == 0 // a member of an archive
		label, _, ok := bytes.Cut(
			rest[at+len("-----BEGIN "):],
			[]byte("-----"),
		)
		if starts &&
			ok &&
			len(label) < 64 &&
			bytes.Contains(label, []byte("PRIVATE KEY")) {
			after := rest[at:min(len(rest), at+maxDecoded)]
			if keyLine(after) == 1 &&
				bytes.Contains(after, append([]byte("-----END "), label...)) {
				return line
			}
		}
		rest = rest[at+1:]
	}
}

// encodedKeyLine returns the line where a key in base64 begins, as in a secret of Kubernetes,
// 0 if there is none.
func encodedKeyLine(b []byte) int {
	const begin = "LS0tLS1CRUdJTi" // -----BEGIN
	line := 1
	for rest := b; ; {
		at := bytes.Index(rest, []byte(begin))
		if at < 0 {
			return 0
		}
		line += bytes.Count(rest[:at], []byte{'\n'})
		rest = rest[at:]
		decoded := decodeBase64(rest[:min(len(rest), maxDecoded)])
		if keyLine(decoded) == 1 {
			return line
		}
		rest = rest[len(begin):]
	}
}

// decodeBase64 decodes the letters of base64 that b begins with. Blanks and ends of lines
// between them are left out.
func decodeBase64(b []byte) []byte {
	letters := make([]byte, 0, len(b))
	for _, c := range b {
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			continue
		}
		if !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/') {
			break
		}
		letters = append(letters, c)
	}
	letters = letters[:len(letters)/4*4]
	out := make([]byte, base64.StdEncoding.DecodedLen(len(letters)))
	n, err := base64.StdEncoding.Decode(out, letters)
	if err != nil {
		return nil
	}
	return out[:n]
}

// keyLine returns the line where a private key begins, 0 if there is none. A key
// is a PEM header of a private key (PKCS, OpenSSH, cosign, PGP) followed by
// base64, so that a text about keys does not match, or the header of a PuTTY key.
func keyLine(b []byte) int {
	const begin = "-----BEGIN "
	line := 1
	for rest := b; ; {
		i := bytes.Index(rest, []byte(begin))
		if i < 0 {
			break
		}
		line += bytes.Count(rest[:i], []byte{'\n'})
		rest = rest[i+len(begin):]
		label, after, ok := bytes.Cut(rest, []byte("-----"))
		if ok &&
			len(label) < 64 &&
			bytes.Contains(label, []byte("PRIVATE KEY")) &&
			holdsKey(after) {
			return line
		}
	}
	if bytes.HasPrefix(b, []byte("PuTTY-User-Key-File-")) {
		return 1
	}
	return 0
}

// holdsKey reports whether the first 400 bytes have a run of at least 32 letters
// of base64: directly, after headers ("Proc-Type: …"), indented, or after "\n" in
// a quoted string.
func holdsKey(after []byte) bool {
	const window, minRun = 400, 32
	run := 0
	for _, c := range after[:min(len(after), window)] {
		switch {
		case c >= 'A' && c <= 'Z',
			c >= 'a' && c <= 'z',
			c >= '0' && c <= '9',
			c == '+',
			c == '/':
			if run++; run >= minRun {
				return true
			}
		default:
			run = 0
		}
	}
	return false
}

// firstText returns the number of the first line that is not blank.
func firstText(b []byte) int {
	blank := b[:len(b)-len(bytes.TrimLeft(b, " \t\r\n\xef\xbb\xbf"))]
	return 1 + bytes.Count(blank, []byte{'\n'})
}
