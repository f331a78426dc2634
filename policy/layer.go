package policy

import (
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
)

// Layer is one source of settings that permit something: an item of a space, or a
// section of a policy file.
type Layer struct {
	Name string    // the file, as origins and errors name it
	Doc  *tree.Doc // its content
	At   []string  // the keys that lead to the settings in Doc
	// Wide marks the sources that may permit more than the ones before them: the
	// system's defaults and the user's own items. All others only restrict.
	Wide bool
}

// reader returns a Reader of the settings.
func (l Layer) reader() *tree.Reader {
	r := tree.NewReader(l.Doc, diag.ConfigError)
	for _, key := range l.At {
		r = r.Map(key)
	}
	return r
}

// itemKeys are the keys that every configuration item has and that are not settings.
func itemKeys() []string {
	return []string{"schema_version", "name", "category", "description", "author", "version", "tags", "extends", "config_schema"}
}

// MatchRef reports whether a pattern such as tool:rye/** or tool:gh/issue includes a
// ref. The kind may be *.
func MatchRef(pattern string, ref item.Ref) bool {
	kind, ids, found := strings.Cut(pattern, ":")
	return found &&
		(kind == "*" || kind == string(ref.Kind)) &&
		glob.Match(ids, ref.ID)
}

// CheckRefPattern returns why MatchRef cannot use a pattern, or nil.
func CheckRefPattern(s string) error {
	kind, ids, found := strings.Cut(s, ":")
	if !found || kind != "*" && item.CheckKind(item.Kind(kind)) != nil {
		return fmt.Errorf("%q is not KIND:PATTERN, such as tool:gh/*", s)
	}
	if !glob.IsPattern(ids) {
		return item.CheckID(ids)
	}
	if fs := glob.Check(ids); diag.Failed(fs) {
		return fmt.Errorf("%q is not a pattern: %s", s, fs[0].Message)
	}
	return nil
}
