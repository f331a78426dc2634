package primary

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
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
func (h *Verbs) reply(name string, env *Envelope, home string) *Reply {
	if env.Error != nil {
		env.Error = presentable(env.Error, home)
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
func (h *Verbs) keep(whole []byte) string {
	if h.p.Resolver == nil {
		return ""
	}
	root := h.p.Resolver.Spaces().Of(space.Project)
	if root == nil || !root.OnDisk() || !root.Exists(".") {
		return ""
	}
	rel := path.Join(resultsDir, item.DigestOf(whole).Hex()[:16]+".json")
	if err := root.CreatePrivate(rel, whole); err != nil && !errors.Is(err, fs.ErrExist) {
		return ""
	}
	forget(root.Path(resultsDir), maxResults)
	return path.Join(space.Dir, rel)
}

// resultsDir is where whole replies lie, below .ai, and maxResults how many.
const (
	resultsDir = "cache/results"
	maxResults = 32
)

// forget removes the oldest files of a folder beyond the newest n.
func forget(dir string, n int) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= n {
		return
	}
	age := func(e fs.DirEntry) int64 {
		if fi, err := e.Info(); err == nil {
			return fi.ModTime().UnixNano()
		}
		return 0
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(age(a), age(b)) })
	for _, e := range entries[:len(entries)-n] {
		_ = os.Remove(filepath.Join(dir, e.Name())) // another server may have done so
	}
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

// presentable returns an error in texts that are safe to show and have an end.
// The home folder is nobody's business, and its path helps no model.
func presentable(f *diag.Failure, home string) *diag.Failure {
	short := *f
	shown := func(s string) string {
		if len(home) > 1 {
			s = strings.ReplaceAll(s, home, "~")
		}
		return hidden.Visible(s)
	}
	short.Message, short.Suggestion = clipped(shown(f.Message)), clipped(shown(f.Suggestion))
	details, err := generic(f.Details)
	if err != nil {
		details = nil
	}
	short.Details, _ = eachText(details, shown).(map[string]any)
	return &short
}

// maxMessage is the length of the longest message of an error, in characters.
const maxMessage = 4000

func clipped(s string) string {
	runes := []rune(s)
	if len(runes) <= maxMessage {
		return s
	}
	return string(runes[:maxMessage*2/3]) + " […] " + string(runes[len(runes)-maxMessage/3:])
}

// eachText maps every line of every text of a document.
func eachText(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		lines := strings.Split(v, "\n")
		for i, line := range lines {
			lines[i] = f(line)
		}
		return strings.Join(lines, "\n")
	case []any:
		for i := range v {
			v[i] = eachText(v[i], f)
		}
	case map[string]any:
		for k := range v {
			v[k] = eachText(v[k], f)
		}
	}
	return v
}
