package mcpclient

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/winname"
	"github.com/ryeos/rye/item"
)

// Segment returns a tool's name as one segment of an id, different for every name.
// A byte that a segment cannot contain is written as _xHH, and so is an _ that
// begins such a sequence.
func Segment(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c == '_' && escape(name[i:]),
			!segmentByte(c, i == 0),
			i == 0 && winname.Device(name):
			fmt.Fprintf(&b, "_x%02x", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Original is the inverse of Segment.
func Original(segment string) string {
	var b strings.Builder
	for i := 0; i < len(segment); i++ {
		if escape(segment[i:]) {
			n, _ := strconv.ParseUint(segment[i+2:i+4], 16, 8)
			b.WriteByte(byte(n))
			i += 3
			continue
		}
		b.WriteByte(segment[i])
	}
	return b.String()
}

// escape reports whether s begins with _xHH.
func escape(s string) bool {
	return len(s) >= 4 &&
		s[0] == '_' &&
		s[1] == 'x' &&
		lowerHex(s[2]) &&
		lowerHex(s[3])
}

func lowerHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
}

func segmentByte(c byte, first bool) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' ||
		c >= '0' && c <= '9' ||
		c == '_' ||
		c == '-' && !first
}

// ToolRef returns the ref of the item of a server's tool.
func ToolRef(server, tool string) item.Ref {
	return item.Ref{Kind: item.Tool, ID: path.Join(Folder, server, Segment(tool))}
}

// checkToolNames returns the names that cannot all be items of one directory.
func checkToolNames(server string, tools []Tool) []diag.Finding {
	var fs []diag.Finding
	bad := func(format string, args ...any) {
		fs = append(fs, diag.Errorf(diag.ValidationFailed, 0, 0, format, args...))
	}
	seen := map[string]string{}
	for _, t := range tools {
		ref := ToolRef(server, t.Name)
		key := strings.ToLower(ref.ID)
		switch other, twice := seen[key]; {
		case t.Name == "":
			bad("a tool has no name")
		case item.CheckID(ref.ID) != nil:
			bad("tool %q: its name is too long for an id", t.Name)
		case twice && other == t.Name:
			bad("tool %q is offered twice", t.Name)
		case twice:
			bad("tools %q and %q differ only by case, which some file systems do not distinguish", other, t.Name)
		}
		seen[key] = t.Name
	}
	return fs
}
