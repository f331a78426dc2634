package tree

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
)

// Reader decodes one mapping of a Doc into typed values. Every problem becomes
// a finding with the position of the value, and decoding continues, so that one
// pass reports all of them. The messages begin with the path of the value.
//
// A method returns the default or the zero value for a key that is absent or
// has a wrong value. Null is a wrong value, except for Map.
type Reader struct {
	doc    *Doc
	path   string // of the mapping in Doc.Pos, "" for the root
	name   string // of the mapping in messages
	values map[string]any
	wrong  bool // the value is not a mapping, which is reported
	shared *shared
}

type shared struct {
	code       diag.Code
	findings   []diag.Finding
	parameters bool // see NewParameters
}

// NewReader returns a Reader of the root of doc, whose findings have the code.
func NewReader(doc *Doc, code diag.Code) *Reader {
	return &Reader{doc: doc, values: doc.Root, shared: &shared{code: code}}
}

// NewParameters returns a Reader of the parameters of a call. Null is the same as
// absent. Findings have the code ValidationFailed, unknown fields have
// UnknownParameter and always list the known ones: the caller may be a model that
// sees nothing but the message.
func NewParameters(in map[string]any) *Reader {
	r := NewReader(&Doc{Root: in}, diag.ValidationFailed)
	r.shared.parameters = true
	return r
}

// Findings returns the findings so far of all Readers of the Doc, in the order
// of their positions.
func (r *Reader) Findings() []diag.Finding {
	diag.Sort(r.shared.findings)
	return r.shared.findings
}

// Doc returns the Doc that the Reader decodes.
func (r *Reader) Doc() *Doc {
	return r.doc
}

// Failed returns the number of findings so far that are errors.
func (r *Reader) Failed() int {
	n := 0
	for _, f := range r.shared.findings {
		if f.Severity != diag.SeverityWarning {
			n++
		}
	}
	return n
}

// Self returns the path of the mapping as messages show it, "" for the root.
func (r *Reader) Self() string {
	return r.name
}

// Add adds a finding.
func (r *Reader) Add(f diag.Finding) {
	r.shared.findings = append(r.shared.findings, f)
}

// Name returns the path of a key as messages show it: tools[0].args.
func (r *Reader) Name(key string) string {
	plain := func(c rune) bool {
		return c == '_' ||
			c == '-' ||
			c >= '0' && c <= '9' ||
			c|0x20 >= 'a' && c|0x20 <= 'z'
	}
	switch {
	case key == "" || strings.TrimFunc(key, plain) != "":
		return r.name + "[" + strconv.Quote(key) + "]"
	case r.name == "":
		return key
	}
	return r.name + "." + key
}

// Path returns the path of a key in Doc.Pos.
func (r *Reader) Path(key string) string {
	return Join(r.path, key)
}

// Has reports whether a key is present and not null.
func (r *Reader) Has(key string) bool {
	return r.values[key] != nil
}

// Keys returns the keys of the mapping, sorted.
func (r *Reader) Keys() []string {
	return slices.Sorted(maps.Keys(r.values))
}

// Value returns the value of a key, nil if it is absent.
func (r *Reader) Value(key string) any {
	return r.values[key]
}

// Reject reports a value: its path, a space and the text.
func (r *Reader) Reject(key, format string, args ...any) {
	r.report(
		r.Path(key),
		r.shared.code,
		r.Name(key)+" "+fmt.Sprintf(format, args...),
	)
}

// RejectNear is Reject with the known word that is nearest to a wrong one.
func (r *Reader) RejectNear(key, word string, known []string, format string, args ...any) {
	f := r.report(
		r.Path(key),
		r.shared.code,
		r.Name(key)+" "+fmt.Sprintf(format, args...),
	)
	if near := suggest.Nearest(word, known); near != "" {
		*f = f.WithReason("nearest", "nearest", near)
	}
}

// RejectSelf reports the mapping itself.
func (r *Reader) RejectSelf(format string, args ...any) {
	r.report(
		r.path,
		r.shared.code,
		r.name+" "+fmt.Sprintf(format, args...),
	)
}

// Warn is RejectNear with a warning.
func (r *Reader) Warn(key, word string, known []string, format string, args ...any) {
	r.RejectNear(key, word, known, format, args...)
	r.shared.findings[len(r.shared.findings)-1].Severity = diag.SeverityWarning
}

// RejectErr reports a value for which a function returned an error, under the
// code of the error if it has one: the path, a colon and the error.
func (r *Reader) RejectErr(key string, err error) {
	r.reportErr(r.Path(key), r.Name(key), err)
}

func (r *Reader) reportErr(path, name string, err error) {
	code := diag.CodeOf(err)
	if code == "" {
		code = r.shared.code
	}
	r.report(path, code, name+": "+err.Error())
}

func (r *Reader) report(path string, code diag.Code, message string) *diag.Finding {
	pos := r.doc.At(path)
	if pos.Line == 0 && len(r.doc.Pos) > 0 {
		pos.Line = 1 // a key that is missing at the root has no position
	}
	r.shared.findings = append(r.shared.findings, diag.Errorf(
		code,
		pos.Line,
		pos.Column,
		"%s",
		message,
	))
	return &r.shared.findings[len(r.shared.findings)-1]
}

// maxUnknown is the largest number of unknown fields that are reported one by
// one.
const maxUnknown = 20

// Only reports the keys that are not among the known ones.
func (r *Reader) Only(known ...string) {
	var unknown []string
	for k := range r.values {
		if !slices.Contains(known, k) {
			unknown = append(unknown, k)
		}
	}
	slices.Sort(unknown)
	for i, key := range unknown {
		if i == maxUnknown {
			r.report(
				r.path,
				r.shared.code,
				fmt.Sprintf("and %d more unknown fields", len(unknown)-i),
			)
			return
		}
		message := fmt.Sprintf("unknown field %q", r.Name(key))
		code := r.shared.code
		if r.shared.parameters {
			code = diag.UnknownParameter
		}
		near := suggest.Nearest(key, known)
		if near == "" || r.shared.parameters {
			message += ": the fields here are " + strings.Join(known, ", ")
		}
		f := r.report(r.Path(key), code, message)
		if near != "" {
			*f = f.WithReason("nearest", "nearest", near)
		}
	}
}

// Require reports the keys that are absent, null or empty strings.
func (r *Reader) Require(keys ...string) {
	if r.wrong {
		return
	}
	for _, key := range keys {
		switch r.values[key] {
		case nil:
			r.Reject(key, "is missing")
		case "":
			r.Reject(key, "is empty")
		}
	}
}

// Text returns a string.
func (r *Reader) Text(key string) string {
	s, _ := value[string](r, key, "a string")
	return s
}

// TextFunc returns a string for which check returns nil.
func (r *Reader) TextFunc(key string, check func(string) error) string {
	s, ok := value[string](r, key, "a string")
	if !ok {
		return ""
	}
	if err := check(s); err != nil {
		r.RejectErr(key, err)
		return ""
	}
	return s
}

// Bool returns a truth value, or def.
func (r *Reader) Bool(key string, def bool) bool {
	if b, ok := value[bool](r, key, "true or false"); ok {
		return b
	}
	return def
}

// Int returns a whole number from low to high, or def.
func (r *Reader) Int(key string, def, low, high int64) int64 {
	if _, present := r.values[key]; !present { // no text is needed
		return def
	}
	if high == math.MaxInt64 {
		return r.integer(key, def, low, high, fmt.Sprintf("a whole number of at least %d", low))
	}
	return r.integer(key, def, low, high, fmt.Sprintf("a whole number from %d to %d", low, high))
}

// Seconds returns a duration that is written as whole seconds, or def.
func (r *Reader) Seconds(key string, def, low, high time.Duration) time.Duration {
	from := int64(low / time.Second)
	to := int64(high / time.Second)
	n := r.integer(
		key,
		int64(def/time.Second),
		from,
		to,
		fmt.Sprintf("whole seconds from %d to %d", from, to),
	)
	return time.Duration(n) * time.Second
}

func (r *Reader) integer(key string, def, low, high int64, want string) int64 {
	if f, ok := r.values[key].(float64); ok {
		// 5.0 is a whole number, as in JSON Schema.
		n := int64(f)
		if float64(n) == f && n >= low && n <= high {
			return n
		}
		r.Reject(key, "must be %s, not %v", want, f)
		return def
	}
	n, ok := value[int64](r, key, want)
	if !ok {
		return def
	}
	if n < low || n > high {
		r.Reject(key, "must be %s, not %d", want, n)
		return def
	}
	return n
}

// Number returns a number from low to high, which may be infinite, or def.
func (r *Reader) Number(key string, def, low, high float64) float64 {
	want := "a number"
	switch {
	case !math.IsInf(high, 1):
		want = fmt.Sprintf("a number from %v to %v", low, high)
	case !math.IsInf(low, -1):
		want = fmt.Sprintf("a number of at least %v", low)
	}
	var n float64
	if whole, ok := r.values[key].(int64); ok {
		n = float64(whole)
	} else if n, ok = value[float64](r, key, want); !ok {
		return def
	}
	if !(n >= low && n <= high) { // true for NaN
		r.Reject(key, "must be %s, not %v", want, n)
		return def
	}
	return n
}

// Enum returns one of the allowed strings, or def.
func (r *Reader) Enum(key, def string, allowed ...string) string {
	if _, present := r.values[key]; !present { // no text is needed
		return def
	}
	last := len(allowed) - 1
	want := allowed[last]
	if last > 0 {
		want = strings.Join(allowed[:last], ", ") + " or " + want
	}
	s, ok := value[string](r, key, want)
	if !ok {
		return def
	}
	if !slices.Contains(allowed, s) {
		r.RejectNear(key, s, allowed, "must be %s, not %q", want, s)
		return def
	}
	return s
}

// Texts returns a list of strings. Entries that are not strings, and those for
// which check returns an error, are reported and left out; check may be nil.
// The result is nil only if the key is absent or not a list.
func (r *Reader) Texts(key string, check func(string) error) []string {
	list, ok := value[[]any](r, key, "a list of strings")
	if !ok {
		return nil
	}
	out := make([]string, 0, len(list)) // an empty list is not an absent one
	at := func(i int) (path, name string) {
		return Index(r.Path(key), i), fmt.Sprintf("%s[%d]", r.Name(key), i)
	}
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			path, name := at(i)
			r.report(path, r.shared.code, name+" must be a string, not "+TypeName(v))
			continue
		}
		if check != nil {
			if err := check(s); err != nil {
				path, name := at(i)
				r.reportErr(path, name, err)
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// TextMap returns a mapping of strings without the values that are not, nil if
// the key is absent.
func (r *Reader) TextMap(key string) map[string]string {
	m := r.Map(key)
	if m.values == nil {
		return nil
	}
	out := make(map[string]string, len(m.values))
	for _, k := range m.Keys() {
		if s, ok := value[string](m, k, "a string"); ok {
			out[k] = s
		}
	}
	return out
}

// List returns a list without checking its entries, nil if the key is absent or
// not a list.
func (r *Reader) List(key string) []any {
	list, _ := value[[]any](r, key, "a list")
	return list
}

// Map returns a Reader of a mapping. It is empty if the key is absent or null,
// as of a YAML key without a value.
func (r *Reader) Map(key string) *Reader {
	sub := &Reader{
		doc:    r.doc,
		path:   r.Path(key),
		name:   r.Name(key),
		shared: r.shared,
	}
	if r.Has(key) {
		var ok bool
		sub.values, ok = value[map[string]any](r, key, "a mapping")
		sub.wrong = !ok
	}
	return sub
}

// Maps returns Readers of a list of mappings. Other entries are reported and
// left out.
func (r *Reader) Maps(key string) []*Reader {
	list, _ := value[[]any](r, key, "a list of mappings")
	var out []*Reader
	for i, v := range list {
		sub := &Reader{
			doc:    r.doc,
			path:   Index(r.Path(key), i),
			name:   fmt.Sprintf("%s[%d]", r.Name(key), i),
			shared: r.shared,
		}
		m, ok := v.(map[string]any)
		if !ok {
			r.report(sub.path, r.shared.code, sub.name+" must be a mapping, not "+TypeName(v))
			continue
		}
		sub.values = m
		out = append(out, sub)
	}
	return out
}

// value returns the value of a key. It reports a value that is not a T, which
// want describes.
func value[T any](r *Reader, key, want string) (t T, ok bool) {
	v, present := r.values[key]
	if !present || v == nil && r.shared.parameters {
		return t, false
	}
	if t, ok = v.(T); !ok {
		r.Reject(key, "must be %s, not %s", want, TypeName(v))
	}
	return t, ok
}

// TypeName returns the type of a value with its article, for messages.
func TypeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case int64, float64, int, json.Number:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return "a time"
}
