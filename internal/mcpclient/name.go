package mcpclient

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// Segment returns a tool's name as one segment of an id. Every name has its
// own: a byte that a segment cannot hold is written _xHH, and so is the _ of a
// name that looks like that itself.
func Segment(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c == '_' && escape(name[i:]), !segmentByte(c, i == 0):
			fmt.Fprintf(&b, "_x%02x", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Original returns the name that a segment was made from.
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
	return len(s) >= 4 && s[0] == '_' && s[1] == 'x' && lowerHex(s[2]) && lowerHex(s[3])
}

func lowerHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }

func segmentByte(c byte, first bool) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' && !first
}

// ToolRef returns the ref of the item that stands for a tool of a server.
func ToolRef(server, tool string) item.Ref {
	return item.Ref{Kind: item.Tool, ID: path.Join(Folder, server, Segment(tool))}
}

// checkToolNames finds names that cannot be items side by side.
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
			bad("tool %q is there twice", t.Name)
		case twice:
			bad("tools %q and %q differ only by case, and some file systems cannot hold both", other, t.Name)
		}
		seen[key] = t.Name
	}
	return fs
}
