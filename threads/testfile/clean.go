package testfile

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/threads"
)

// Cleaner removes secrets from JSON: known values, and texts that have the form of a key.
type Cleaner struct {
	values   func([]byte) []byte
	patterns []pattern
}

type pattern struct {
	id string
	re *regexp.Regexp
}

// NewCleaner reads the patterns of a configuration. values replaces known values; it may be
// nil.
func NewCleaner(root map[string]any, values func([]byte) []byte) (*Cleaner, error) {
	c := &Cleaner{values: values}
	list, _ := root["redact"].([]any)
	for i, v := range list {
		m, _ := v.(map[string]any)
		id, _ := m["id"].(string)
		text, _ := m["pattern"].(string)
		re, err := regexp.Compile(text)
		if id == "" || text == "" || err != nil || re.MatchString("") {
			return nil, diag.New(diag.ConfigError, "reading the patterns of secrets: entry %d (%q): it needs an id and a regular expression that does not match an empty text", i+1, id)
		}
		c.patterns = append(c.patterns, pattern{id, re})
	}
	return c, nil
}

// JSON returns a JSON value without secrets: keys of objects stay.
func (c *Cleaner) JSON(raw []byte) ([]byte, error) {
	if c.values != nil {
		raw = c.values(raw)
	}
	v, fs := jsonx.ParseMessage(raw)
	if len(fs) > 0 {
		return nil, diag.FromFindings("removing secrets", fs)
	}
	return jsonx.Marshal(c.value(v))
}

func (c *Cleaner) value(v any) any {
	switch v := v.(type) {
	case string:
		return c.nested(v)
	case []any:
		for i := range v {
			v[i] = c.value(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = c.value(v[k])
		}
	}
	return v
}

// nested cleans a text, and one that is JSON itself by its values: a quote or a line feed is
// written in another way in it. A text without a secret stays as it is.
func (c *Cleaner) nested(s string) string {
	t := strings.TrimSpace(s)
	if strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[") {
		v, fs := jsonx.ParseMessage([]byte(t))
		before, err := jsonx.Marshal(v)
		if err == nil && len(fs) == 0 {
			after, err := jsonx.Marshal(c.value(v))
			if err == nil && !bytes.Equal(before, after) {
				s = string(after)
			}
		}
	}
	return c.text(s)
}

// text replaces what a pattern matches, or its first group if it has one.
func (c *Cleaner) text(s string) string {
	for _, p := range c.patterns {
		group := min(p.re.NumSubexp(), 1) * 2
		out := ""
		from := 0
		for _, m := range p.re.FindAllStringSubmatchIndex(s, -1) {
			if m[group] < 0 {
				continue // the group is not in this match
			}
			out += s[from:m[group]] + "[redacted:" + p.id + "]"
			from = m[group+1]
		}
		s = out + s[from:]
	}
	return s
}

// Recorded removes secrets from a recording.
func (c *Cleaner) Recorded(r *threads.Recorded) error {
	for i := range r.Events {
		err := c.object(&r.Events[i].Data)
		if err != nil {
			return err
		}
	}
	if err := c.object(&r.Inputs); err != nil {
		return err
	}
	if c.values != nil {
		r.Result.Text = string(c.values([]byte(r.Result.Text)))
	}
	r.Result.Text = c.nested(r.Result.Text)
	return c.object(&r.Result.Outputs)
}

func (c *Cleaner) object(m *map[string]any) error {
	if *m == nil {
		return nil
	}
	raw, err := jsonx.Marshal(*m)
	if err == nil {
		raw, err = c.JSON(raw)
	}
	if err != nil {
		return err
	}
	v, fs := jsonx.ParseMessage(raw)
	if len(fs) > 0 {
		return diag.FromFindings("removing secrets", fs)
	}
	*m, _ = v.(map[string]any)
	return nil
}
