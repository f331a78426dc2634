package gitcmd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// Filtered returns the files, relative to the directory of Git, whose bytes in git are
// those that a program or an encoding makes of the file: the value is the attribute, such
// as "filter=lfs". No program is started.
func (g *Git) Filtered(ctx context.Context, paths []string) (map[string]string, error) {
	filtered := map[string]string{}
	if len(paths) == 0 {
		return filtered, nil
	}
	names := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	out, err := g.run(ctx, names, "check-attr", "-z", "--stdin", "filter", "working-tree-encoding")
	if err != nil {
		return nil, err
	}
	fields := nulled(out)
	for len(fields) >= 3 {
		path := fields[0]
		attribute := fields[1]
		value := fields[2]
		fields = fields[3:]
		if value != "unspecified" && value != "unset" && value != "set" && !plainEncoding(attribute, value) {
			filtered[path] = attribute + "=" + value
		}
	}
	return filtered, nil
}

// plainEncoding reports whether an attribute names the encoding of git's own bytes.
func plainEncoding(attribute, value string) bool {
	return attribute == "working-tree-encoding" && (strings.EqualFold(value, "utf-8") || strings.EqualFold(value, "utf8"))
}

// Converted returns Filtered, and the files whose bytes git itself changes when it stores
// them: line ends and $Id$. Their value is "text, eol or ident".
func (g *Git) Converted(ctx context.Context, paths []string) (map[string]string, error) {
	converted, err := g.Filtered(ctx, paths)
	if err != nil {
		return nil, err
	}
	var asked []string
	for _, p := range paths {
		if converted[p] == "" {
			asked = append(asked, p)
		}
	}
	if len(asked) == 0 {
		return converted, nil
	}
	prefix, err := g.run(ctx, nil, "rev-parse", "--show-prefix") // hash-object reads paths from the top of the work tree
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, p := range asked {
		b.WriteString(quotedLine(strings.TrimSuffix(string(prefix), "\n") + p))
	}
	lines := b.String()
	stored, err := g.guarded(ctx, strings.NewReader(lines), "hash-object", "--stdin-paths")
	if err != nil {
		return nil, err
	}
	plain, err := g.guarded(ctx, strings.NewReader(lines), "hash-object", "--no-filters", "--stdin-paths")
	if err != nil {
		return nil, err
	}
	storedNames := strings.Fields(string(stored))
	plainNames := strings.Fields(string(plain))
	if len(storedNames) != len(asked) || len(plainNames) != len(asked) {
		return nil, unreadable("hash-object", string(stored))
	}
	for i, p := range asked {
		if storedNames[i] != plainNames[i] {
			converted[p] = "text, eol or ident"
		}
	}
	return converted, nil
}

// quotedLine returns a path as a line of --stdin-paths: git would take a path that begins with
// a quotation mark for a quoted one, and remove a carriage return at its end.
func quotedLine(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(path) + "\"\n"
}

// HasAttributes reports whether a directory, or one of those above it up to the top of
// its work tree, has a file .gitattributes.
func HasAttributes(dir string) bool {
	for {
		_, err := os.Lstat(filepath.Join(dir, ".gitattributes"))
		if err == nil {
			return true
		}
		_, err = os.Lstat(filepath.Join(dir, ".git"))
		if err == nil {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}
