package source

import (
	"encoding/base64"
	"encoding/hex"
	"github.com/ryeos/rye/lock/treehash"
	"strings"

	"github.com/ryeos/rye/diag"
)

// snapshotKey returns a file name for "h1:<base64>".
func snapshotKey(sum string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:"))
	if err != nil ||
		len(b) != 32 ||
		"h1:"+base64.StdEncoding.EncodeToString(b) != sum {
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

// sumOf is the hash of a tree that a lock records.
func sumOf(files []File) (string, error) {
	return treehash.Of(treeOf(files))
}

func treeOf(files []File) []treehash.File {
	out := make([]treehash.File, len(files))
	for i, f := range files {
		out[i] = treehash.File{
			Path:   f.Path,
			Mode:   treehash.Regular,
			Size:   f.Size,
			Digest: f.Digest,
		}
		if f.Executable {
			out[i].Mode = treehash.Executable
		}
	}
	return out
}
