package extract

import (
	"path"
	"strings"
)

// Incidental reports whether a file below .ai is there by accident or for people: a
// README.md, or a file that operating systems, editors and interpreters leave. Such
// a file without a signature is not an item, not an error, and is never signed by a
// pattern. It is not run or copied either, because only trusted files are.
func Incidental(rel string) bool {
	name := path.Base(rel)
	switch name {
	case "README.md", ".DS_Store", "Thumbs.db", ".gitkeep", ".keep":
		return true
	}
	for _, pattern := range []string{"*~", ".*.sw?", "#*#"} {
		if match, _ := path.Match(pattern, name); match {
			return true
		}
	}
	return strings.Contains("/"+path.Dir(rel)+"/", "/__pycache__/")
}
