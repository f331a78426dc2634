package primary

import (
	"bytes"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/space"
)

// bigText is the length in bytes from which a text of the data stands last.
const bigText = 200

// Truncated says that a reply is not all there, and where the whole is.
type Truncated struct {
	Shown int    `json:"shown"` // characters
	Total int    `json:"total"`
	File  string `json:"file,omitempty"` // in the project; "" when none could be written
}

// reply renders an envelope for a model: what decides comes first, long texts
// last, and no more than MaxReply characters.
func (h *House) reply(name string, env *Envelope, home string) *Reply {
	if env.Error != nil {
		env.Error = withoutHome(env.Error, home)
	}
	data, err := generic(env.Data)
	if err != nil {
		env, data = failed(err, nil), nil
	}
	whole := render(env, data, nil)
	if total := utf8.RuneCount(whole); total > MaxReply {
		cut := &Truncated{Total: total, File: h.keep(whole)}
		whole = cutDown(env, data, cut)
	}
	r := &Reply{Text: whole, Failed: !env.Success}
	if name == "search" && env.Success {
		r.Structured, _ = jsonx.Marshal(data)
	}
	return r
}

// keep writes a whole reply into the project's cache and returns its path
// there, "" when it could not be written.
func (h *House) keep(whole []byte) string {
	if h.p.Resolver == nil {
		return ""
	}
	root := h.p.Resolver.Spaces().Of(space.Project)
	if root == nil || !root.OnDisk() || !root.Exists(".") {
		return ""
	}
	rel := path.Join("cache", "results", item.DigestOf(whole).Hex()[:16]+".json")
	file := root.Path(rel)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return ""
	}
	if err := atomicfile.Write(file, whole, 0o644); err != nil {
		return ""
	}
	return path.Join(space.Dir, rel)
}

// render writes an envelope in the order of importance.
func render(env *Envelope, data any, cut *Truncated) []byte {
	var b bytes.Buffer
	member := func(name string, v any) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + name + `":`)
		writeValue(&b, v, name == "data")
	}
	b.WriteByte('{')
	member("success", env.Success)
	if env.Error != nil {
		member("error", env.Error)
	}
	if cut != nil {
		member("truncated", cut)
	}
	if env.Metadata != nil {
		member("metadata", env.Metadata)
	}
	if data != nil {
		member("data", data)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// writeValue writes JSON, the members of an object that hold long texts last.
func writeValue(b *bytes.Buffer, v any, sorted bool) {
	m, ok := v.(map[string]any)
	if !ok || !sorted {
		text, err := jsonx.Marshal(v)
		if err != nil {
			text = []byte("null")
		}
		b.Write(text)
		return
	}
	long := func(k string) int {
		if s, ok := m[k].(string); ok && len(s) > bigText {
			return 1
		}
		return 0
	}
	keys := slices.Sorted(maps.Keys(m))
	slices.SortStableFunc(keys, func(a, b string) int { return rank(a) + long(a) - rank(b) - long(b) })
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		writeValue(b, k, false)
		b.WriteByte(':')
		writeValue(b, m[k], false)
	}
	b.WriteByte('}')
}

// rank puts what a model must read before the rest in front, and the text of an
// item at the end.
func rank(key string) int {
	switch key {
	case "your_directions":
		return -2
	case "body", "content":
		return 2
	}
	return 0
}

// generic turns data into the values of JSON.
func generic(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	b, err := jsonx.Marshal(v)
	if err != nil {
		return nil, diag.New(diag.Internal, "writing a result: %w", err)
	}
	out, fs := jsonx.ParseValue(b)
	return out, diag.FromFindings("writing a result", fs)
}

// plain is generic for what is an object.
func plain(v any) (map[string]any, error) {
	out, err := generic(v)
	m, _ := out.(map[string]any)
	return m, err
}

// withoutHome shortens the home folder in what an error says: it is nobody's
// business, and the path helps no model.
func withoutHome(f *Failure, home string) *Failure {
	if home == "" || home == string(filepath.Separator) {
		return f
	}
	b, err := jsonx.Marshal(f)
	quoted, qerr := jsonx.Marshal(home)
	if err != nil || qerr != nil {
		return f
	}
	bare := strings.Trim(string(quoted), `"`)
	out, fs := jsonx.Parse(bytes.ReplaceAll(b, []byte(bare), []byte("~")))
	if out == nil || diag.Failed(fs) {
		return f
	}
	short := *f
	short.Message, _ = out.Root["message"].(string)
	short.Suggestion, _ = out.Root["suggestion"].(string)
	short.Details, _ = out.Root["details"].(map[string]any)
	return &short
}
