package git

import (
	"context"
	"crypto/sha1" // the names of objects are SHA-1; trust depends on the SHA-256 of the files
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
)

// Limits of objects that are not files.
const (
	maxCommit = 1 << 20
	maxTree   = 16 << 20
)

// read reads objects of one kind and compares each with its name: neither the store
// nor the remote is trusted.
func read(
	ctx context.Context,
	objs Objects,
	kind string,
	oids []string,
	limit int64,
	each func(i int, data []byte) error,
) error {
	if len(oids) == 0 {
		return nil
	}
	return objs.Read(ctx, oids, limit, func(i int, o Object) error {
		if kind != "" && o.Kind != kind {
			return diag.New(diag.HashMismatch, "reading object %s: it is a %s, not a %s", oids[i], o.Kind, kind)
		}
		got := name(o, len(oids[i]) == 64)
		if got != oids[i] {
			return diag.New(diag.HashMismatch, "reading object %s: its bytes have the name %s", oids[i], got)
		}
		return each(i, o.Data)
	})
}

// name computes the name of an object.
func name(o Object, isSHA256 bool) string {
	var h hash.Hash = sha1.New()
	if isSHA256 {
		h = sha256.New()
	}
	fmt.Fprintf(h, "%s %d\x00", o.Kind, len(o.Data))
	h.Write(o.Data)
	return hex.EncodeToString(h.Sum(nil))
}

func isOID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// commit is the parsed fields of a commit.
type commit struct {
	tree    string
	parents []string
	time    time.Time
}

func parseCommit(oid string, data []byte) (commit, error) {
	var c commit
	head, _, _ := strings.Cut(string(data), "\n\n")
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "tree":
			c.tree = value
		case "parent":
			c.parents = append(c.parents, value)
		case "committer":
			c.time = timeOf(value)
		}
	}
	if !isOID(c.tree) || len(c.tree) != len(oid) {
		return c, diag.New(diag.HashMismatch, "reading commit %s: it does not name a tree", oid)
	}
	return c, nil
}

// timeOf reads "Name <mail> 1700000000 +0100".
func timeOf(s string) time.Time {
	words := strings.Fields(s[strings.LastIndexByte(s, '>')+1:])
	if len(words) == 0 {
		return time.Unix(0, 0).UTC()
	}
	n, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil || n < 0 || n > 253402300799 { // the end of the year 9999
		n = 0
	}
	return time.Unix(n, 0).UTC()
}

// parseTag returns the object that a tag names, and its kind.
func parseTag(oid string, data []byte) (target, kind string, err error) {
	head, _, _ := strings.Cut(string(data), "\n\n")
	for line := range strings.SplitSeq(head, "\n") {
		switch key, value, _ := strings.Cut(line, " "); key {
		case "object":
			target = value
		case "type":
			kind = value
		}
	}
	if !isOID(target) || len(target) != len(oid) {
		return "", "", diag.New(diag.HashMismatch, "reading tag %s: it does not name an object", oid)
	}
	return target, kind, nil
}

// entry is one line of a tree.
type entry struct {
	mode uint32
	name string
	oid  string
}

const (
	modeTree       = gitcmd.ModeTree
	modeExecutable = 0o100755
)

// eachEntry calls fn with the entries of a tree.
func eachEntry(oid string, data []byte, fn func(e entry) error) error {
	return gitcmd.EachRaw(data, len(oid)/2, func(e gitcmd.RawEntry) error {
		return fn(entry{e.Mode, e.Name, hex.EncodeToString(e.OID)})
	})
}
