package search

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"strings"

	"github.com/ryeos/rye/internal/openat"
)

// The files of the index begin with eight bytes for their format and a checksum of
// the rest. The checksum detects accidents: a truncated, exchanged or partly
// written file. It does not protect against an attacker, who cannot write to the
// user's cache.
const frameSize = 8 + 4

// seal sets the checksum of a file.
func seal(b []byte) {
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[frameSize:], castagnoli()))
}

// unseal returns the content of a file. ok is false if it has another format or
// is damaged.
func unseal(data, magic string) (content string, ok bool) {
	if len(data) < frameSize || data[:8] != magic {
		return "", false
	}
	content = data[frameSize:]
	return content, u32(data[8:]) == checksum(content)
}

// checksum returns the checksum of a text without copying the whole text.
func checksum(s string) (sum uint32) {
	var piece [8 << 10]byte
	for len(s) > 0 {
		n := copy(piece[:], s)
		sum = crc32.Update(sum, castagnoli(), piece[:n])
		s = s[n:]
	}
	return sum
}

func castagnoli() *crc32.Table {
	return crc32.MakeTable(crc32.Castagnoli)
}

// readWhole returns a file as a string, without the copy of os.ReadFile.
func readWhole(path string) (string, error) {
	f, err := openat.OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.Grow(int(fi.Size()))
	_, err = io.Copy(&out, f)
	return out.String(), err
}
