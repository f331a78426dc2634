package log

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// entryHead is the first line of every entry.
const entryHead = "rye.dev/log/v1\n"

// Types of entries.
const (
	Release    = "release"    // a version of a bundle was published
	State      = "state"      // the state of a version changed
	Binding    = "binding"    // a key was bound to a namespace
	Key        = "key"        // a key was added to or removed from a namespace
	Revocation = "revocation" // the registry knows a revocation
	Publisher  = "publisher"  // a namespace has a publisher document
)

// Entry is one entry of the log. Fields that its type does not have are empty.
type Entry struct {
	Type      string
	ID        string // NS/NAME, with /vN for later majors
	Namespace string
	Version   string
	State     string
	Action    string // add or remove
	Method    string // how a binding was proven: dns, well-known, oidc or operator
	Reason    string
	Sum       string
	Archive   string
	Manifest  string
	Signers   []string
	Publisher string // the key of the request
	Key       string // the bound, added or removed key
	Digest    string // of a document
	Until     time.Time
	Time      time.Time
	Statement string // digest of the signed request; "" for an act of the operator
}

// field is one line of an entry.
type field struct {
	name  string
	get   func(*Entry) string
	set   func(*Entry, string) error
	check func(string) bool
}

func text(name string, at func(*Entry) *string, check func(string) bool) field {
	return field{name, func(e *Entry) string {
		return *at(e)
	},
		func(e *Entry, s string) error { *at(e) = s; return nil }, check}
}

func moment(name string, at func(*Entry) *time.Time) field {
	return field{name, func(e *Entry) string {
		if at(e).IsZero() {
			return ""
		}
		return at(e).UTC().Format(time.RFC3339)
	}, func(e *Entry, s string) (err error) {
		*at(e), err = time.Parse(time.RFC3339, s)
		return err
	}, func(s string) bool {
		t, err := time.Parse(time.RFC3339, s)
		return err == nil && t.UTC().Format(time.RFC3339) == s
	}}
}

// fields are the lines of an entry in their order.
func fields() []field {
	return []field{
		text("type", func(e *Entry) *string {
			return &e.Type
		}, isWord),
		text("id", func(e *Entry) *string {
			return &e.ID
		}, isWord),
		text("namespace", func(e *Entry) *string {
			return &e.Namespace
		}, isWord),
		text("version", func(e *Entry) *string {
			return &e.Version
		}, isWord),
		text("state", func(e *Entry) *string {
			return &e.State
		},
			func(s string) bool {
				return slices.Contains([]string{"ok", "yanked", "unlisted", "deleted"}, s)
			}),
		text(
			"action",
			func(e *Entry) *string { return &e.Action },
			func(s string) bool { return s == "add" || s == "remove" },
		),
		text("method", func(e *Entry) *string {
			return &e.Method
		}, isWord),
		text("reason", func(e *Entry) *string {
			return &e.Reason
		}, isLine),
		text("sum", func(e *Entry) *string {
			return &e.Sum
		}, isSum),
		text("archive", func(e *Entry) *string {
			return &e.Archive
		}, isDigest),
		text("manifest", func(e *Entry) *string {
			return &e.Manifest
		}, isDigest),
		{"signers", func(e *Entry) string {
			return strings.Join(e.Signers, " ")
		},
			func(e *Entry, s string) error { e.Signers = strings.Split(s, " "); return nil },
			func(s string) bool {
				list := strings.Split(s, " ")
				return !slices.ContainsFunc(list, func(k string) bool {
					return !isKey(k)
				})
			}},
		text("publisher", func(e *Entry) *string {
			return &e.Publisher
		}, isKey),
		text("key", func(e *Entry) *string {
			return &e.Key
		}, isKey),
		text("digest", func(e *Entry) *string {
			return &e.Digest
		}, isDigest),
		moment("until", func(e *Entry) *time.Time {
			return &e.Until
		}),
		moment("time", func(e *Entry) *time.Time {
			return &e.Time
		}),
		text("statement", func(e *Entry) *string {
			return &e.Statement
		}, isDigest),
	}
}

// lines returns the names of the fields that a type must have, then those it may have.
func lines(kind string) (must, may []string, ok bool) {
	switch kind {
	case Release:
		return []string{"id", "version", "sum", "archive", "manifest", "signers", "publisher", "time", "statement"}, nil, true
	case State:
		return []string{"id", "version", "state", "time"}, []string{"reason", "publisher", "statement"}, true
	case Binding:
		return []string{"namespace", "method", "key", "until", "time"}, []string{"statement"}, true
	case Key:
		return []string{"namespace", "action", "key", "time"}, []string{"publisher", "statement"}, true
	case Revocation:
		return []string{"digest", "time"}, []string{"namespace", "reason", "publisher", "statement"}, true
	case Publisher:
		return []string{"namespace", "digest", "time"}, []string{"publisher", "statement"}, true
	}
	return nil, nil, false
}

// Render returns the bytes of an entry. An entry that ParseEntry would refuse is an error.
func (e *Entry) Render() ([]byte, error) {
	var b strings.Builder
	b.WriteString(entryHead)
	for _, f := range fields() {
		if v := f.get(e); v != "" {
			b.WriteString(f.name + " " + v + "\n")
		}
	}
	out := []byte(b.String())
	if _, err := ParseEntry(out); err != nil {
		return nil, err
	}
	return out, nil
}

// ParseEntry returns an entry. It accepts exactly the bytes that Render writes.
func ParseEntry(b []byte) (*Entry, error) {
	if len(b) > MaxEntry || !utf8.Valid(b) {
		return nil, fmt.Errorf("reading a log entry: it is not UTF-8 of at most %d bytes", MaxEntry)
	}
	rest, ok := strings.CutPrefix(string(b), entryHead)
	if !ok {
		return nil, fmt.Errorf("reading a log entry: line 1: it is not %q", strings.TrimSpace(entryHead))
	}
	e := &Entry{}
	have := map[string]bool{}
	all := fields()
	next := 0
	n := 1
	for line := range strings.Lines(rest) {
		n++
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		at := slices.IndexFunc(all[next:], func(f field) bool {
			return f.name == name
		})
		if at < 0 || !strings.HasSuffix(line, "\n") {
			return nil, fmt.Errorf("reading a log entry: line %d: %q is unknown here", n, name)
		}
		f := all[next+at]
		if !f.check(value) || f.set(e, value) != nil {
			return nil, fmt.Errorf("reading a log entry: line %d: the value of %s is not valid", n, name)
		}
		have[name], next = true, next+at+1
	}
	return e, complete(e, have)
}

func complete(e *Entry, have map[string]bool) error {
	must, may, ok := lines(e.Type)
	if !ok {
		return fmt.Errorf("reading a log entry: the type %q is unknown", e.Type)
	}
	for _, name := range must {
		if !have[name] {
			return fmt.Errorf("reading a log entry: a %s needs %s", e.Type, name)
		}
	}
	for name := range have {
		if name != "type" &&
			!slices.Contains(must, name) &&
			!slices.Contains(may, name) {
			return fmt.Errorf("reading a log entry: a %s has no %s", e.Type, name)
		}
	}
	return nil
}

// isLine reports whether s is a text of one line without control characters.
func isLine(s string) bool {
	return s != "" && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool {
		return r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029
	})
}

func isWord(s string) bool {
	return s != "" &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return r <= 0x20 || r >= 0x7f
		})
}

func isHex(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32 && strings.ToLower(s) == s
}

func isDigest(s string) bool {
	h, ok := strings.CutPrefix(s, "sha256:")
	return ok &&
		isHex(h)
}

func isKey(s string) bool {
	h, ok := strings.CutPrefix(s, "ed25519:")
	return ok &&
		isHex(h)
}

func isSum(s string) bool {
	b64, ok := strings.CutPrefix(s, "h1:")
	b, err := base64.StdEncoding.DecodeString(b64)
	return ok && err == nil && len(b) == 32 && base64.StdEncoding.EncodeToString(b) == b64
}

// Describe returns one line about an entry for a person.
func (e *Entry) Describe(index int64) string {
	out := strconv.FormatInt(index, 10) + " " + e.Time.UTC().Format(time.RFC3339) + " " + e.Type
	for _, s := range []string{e.ID, e.Namespace, e.Version, e.State, e.Action, e.Method, e.Publisher, e.Key, e.Reason} {
		if s != "" {
			out += " " + s
		}
	}
	return out
}
