package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"

	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

const (
	// MaxReply is the maximum length of a reply, in characters. A longer reply is
	// cut, and the complete one is in a file that the reply names.
	MaxReply = 40_000
	// longText is the length in bytes above which a text of the data is written
	// after the other members.
	longText = 200
	// maxMessage is the maximum length of an error message, in characters.
	maxMessage = 4000
	// resultsDir is the directory of complete replies, below .ai.
	resultsDir = "cache/results"
	// maxResults is the number of complete replies that are kept.
	maxResults = 32
)

// ErrorReply returns the reply to a call that was not made because of err. It
// does not hide the home directory.
func ErrorReply(err error) *Reply {
	text, _ := render(failed(err, nil), nil) // an error consists of texts
	return &Reply{Text: text, Failed: true}
}

// reply renders an envelope in at most MaxReply characters. w is nil if no
// workspace was opened; then a complete reply cannot be kept.
func (s *Surface) reply(name string, env *diag.Envelope, w *Workspace) *Reply {
	if env.Error != nil {
		env.Error = presentable(env.Error, s.p.Home)
	}
	var blocks []json.RawMessage
	if p, ok := env.Data.(presented); ok {
		blocks = p.blocks
		env.Data = p.data
		if p.data == nil {
			env.Data = nil
		}
	}
	text, err := render(env, nil)
	if err != nil {
		env = failed(err, nil)
		text, _ = render(env, nil)
	}
	if total := utf8.RuneCount(text); total > MaxReply {
		text = cutDown(*env, total, w.keep)
	}
	r := &Reply{Text: text, Blocks: blocks, Failed: !env.Success}
	if name == "search" && env.Success {
		r.Structured, _ = jsonx.Marshal(env.Data)
	}
	return r
}

// keep writes a complete result into a file of the project's cache, named by its
// digest and an extension, and returns its path below the project, or "" if it
// could not be written.
func (w *Workspace) keep(ext string, text []byte) string {
	if w == nil {
		return ""
	}
	root := w.Verbs.Resolver().Spaces().Of(space.Project)
	if root == nil || !root.OnDisk() || !root.Exists(".") {
		return ""
	}
	rel := path.Join(resultsDir, item.DigestOf(text).Hex()[:16]+ext)
	err := root.CreatePrivate(rel, text)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return ""
	}
	prune(root, resultsDir, maxResults)
	return path.Join(space.Dir, rel)
}

// prune removes the oldest files of a directory so that n remain.
func prune(root *space.Root, dir string, n int) {
	entries, err := os.ReadDir(root.Path(dir))
	if err != nil || len(entries) <= n {
		return
	}
	modified := func(e fs.DirEntry) int64 {
		if fi, err := e.Info(); err == nil {
			return fi.ModTime().UnixNano()
		}
		return 0
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return cmp.Compare(modified(a), modified(b))
	})
	for _, e := range entries[:len(entries)-n] {
		_ = root.Remove(path.Join(dir, e.Name())) // another server may have removed it
	}
}

// render writes an envelope with the members that a model needs first in front:
// clients cut long results at the end.
func render(env *diag.Envelope, cut *Truncated) ([]byte, error) {
	var b bytes.Buffer
	var errs []error
	b.WriteString(`{"success":`)
	errs = append(errs, writeValue(&b, env.Success))
	member := func(name string, v any) {
		b.WriteString(`,"` + name + `":`)
		errs = append(errs, writeValue(&b, v))
	}
	if env.Error != nil {
		member("error", env.Error)
	}
	if cut != nil {
		member("truncated", cut)
	}
	if env.Metadata != nil {
		member("metadata", env.Metadata)
	}
	switch data := env.Data.(type) {
	case nil:
	case map[string]any:
		b.WriteString(`,"data":`)
		errs = append(errs, writeObject(&b, data))
	default: // a struct declares its fields in that order
		member("data", data)
	}
	b.WriteByte('}')
	return b.Bytes(), errors.Join(errs...)
}

func writeValue(b *bytes.Buffer, v any) error {
	text, err := jsonx.Marshal(v)
	if err != nil {
		return diag.New(diag.Internal, "writing a result: %w", err)
	}
	b.Write(text)
	return nil
}

// writeObject writes an object with its long texts last.
func writeObject(b *bytes.Buffer, m map[string]any) error {
	rank := func(k string) int {
		r := 0
		switch k {
		case "your_directions":
			r = -2
		case "body", "content":
			r = 2
		}
		s, ok := m[k].(string)
		if ok && len(s) > longText {
			r++
		}
		return r
	}
	keys := slices.Sorted(maps.Keys(m))
	slices.SortStableFunc(keys, func(a, b string) int {
		return rank(a) - rank(b)
	})
	var errs []error
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		errs = append(errs, writeValue(b, k))
		b.WriteByte(':')
		errs = append(errs, writeValue(b, m[k]))
	}
	b.WriteByte('}')
	return errors.Join(errs...)
}

// generic converts a value to the types of parsed JSON.
func generic(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	b, err := jsonx.Marshal(v)
	if err != nil {
		return nil, diag.New(diag.Internal, "writing a result: %w", err)
	}
	out, fs := jsonx.ParseMessage(b)
	return out, diag.FromFindings("writing a result", fs)
}

// presentable returns an error with texts of bounded length, visible characters
// only, and ~ for the home directory, whose path is private.
func presentable(f *diag.Failure, home string) *diag.Failure {
	visible := func(s string) string {
		if len(home) > 1 {
			s = strings.ReplaceAll(s, home, "~")
		}
		return visibleLines(s)
	}
	short := *f
	short.Message = clip(visible(f.Message))
	short.Suggestion = clip(visible(f.Suggestion))
	details, err := generic(f.Details)
	if err != nil {
		details = nil
	}
	short.Details, _ = mapTexts(details, visible).(map[string]any)
	if schema, ok := f.Details["schema"].(json.RawMessage); ok { // of a trusted item, in its order
		short.Details["schema"] = schema
	}
	return &short
}

// visibleLines returns a text whose lines and tabs are as they were and whose other
// control characters are visible.
func visibleLines(s string) string {
	parts := strings.FieldsFunc(s, func(r rune) bool {
		return r == '\n' || r == '\t'
	})
	var b strings.Builder
	for _, part := range parts {
		i := strings.Index(s, part)
		b.WriteString(s[:i] + hidden.Visible(part))
		s = s[i+len(part):]
	}
	return b.String() + s
}

func clip(s string) string {
	runes := []rune(s)
	if len(runes) <= maxMessage {
		return s
	}
	return string(runes[:maxMessage*2/3]) + " […] " + string(runes[len(runes)-maxMessage/3:])
}

// mapTexts applies f to each line of each text in a parsed JSON value.
func mapTexts(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		lines := strings.Split(v, "\n")
		for i, line := range lines {
			lines[i] = f(line)
		}
		return strings.Join(lines, "\n")
	case []any:
		for i := range v {
			v[i] = mapTexts(v[i], f)
		}
	case map[string]any:
		for k := range v {
			v[k] = mapTexts(v[k], f)
		}
	}
	return v
}
