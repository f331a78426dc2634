package source

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// snapshotKey turns "h1:<base64>" into a name that every file system can hold.
func snapshotKey(sum string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:"))
	if err != nil || len(b) != 32 || "h1:"+base64.StdEncoding.EncodeToString(b) != sum {
		return "", diag.New(diag.HashMismatch, "reading sum %q: it is not h1: and the base64 of 32 bytes", sum)
	}
	return "h1-" + hex.EncodeToString(b), nil
}

// sumOfKey is the inverse of snapshotKey; "" for any other name.
func sumOfKey(key string) string {
	b, err := hex.DecodeString(strings.TrimPrefix(key, "h1-"))
	if err != nil || len(b) != 32 || "h1-"+hex.EncodeToString(b) != key {
		return ""
	}
	return "h1:" + base64.StdEncoding.EncodeToString(b)
}

// sumOf is the h1 of golang.org/x/mod's dirhash over files whose names carry
// their mode, so that no two sets of files with different bytes, names or
// execute bits have one sum: a line "<sha256>  <mode> <path>" for each, in the
// order of "<mode> <path>", hashed.
func sumOf(files []File) (string, error) {
	lines := make([]string, len(files))
	for i, f := range files {
		if strings.ContainsAny(f.Path, "\n\r") {
			return "", diag.New(diag.PathEscape, "hashing files: the name %q holds a line break", f.Path)
		}
		lines[i] = mode(f) + " " + f.Path + "\x00" + f.Digest.Hex()
	}
	slices.Sort(lines)
	h := sha256.New()
	for _, line := range lines {
		name, sum, _ := strings.Cut(line, "\x00")
		io.WriteString(h, sum+"  "+name+"\n")
	}
	return "h1:" + base64.StdEncoding.EncodeToString(h.Sum(nil)), nil
}
