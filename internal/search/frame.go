package search

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"strings"
)

// The files of the index begin with eight bytes that name their format and a
// checksum of what follows, against accidents: a cut, an exchanged or a torn
// file. Against malice there is nothing to protect: the cache is the user's.
const frameSize = 8 + 4

// seal writes the checksum of a file's content in front of it.
func seal(b []byte) {
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[frameSize:], castagnoli()))
}

// unseal returns the content of a file of that format; ok is false when it is
// not, or damaged.
func unseal(data, magic string) (content string, ok bool) {
	if len(data) < frameSize || data[:8] != magic {
		return "", false
	}
	content = data[frameSize:]
	return content, u32(data[8:]) == checksum(content)
}

// checksum works through a text in pieces: no copy of it is made.
func checksum(s string) (sum uint32) {
	var piece [8 << 10]byte
	for len(s) > 0 {
		n := copy(piece[:], s)
		sum = crc32.Update(sum, castagnoli(), piece[:n])
		s = s[n:]
	}
	return sum
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// readWhole returns a file as a text.
func readWhole(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if fi.Mode().IsRegular() {
		out.Grow(int(fi.Size()))
	}
	_, err = io.Copy(&out, f)
	return out.String(), err
}
