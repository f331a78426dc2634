package httpfill

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
)

// Redacted stands in place of a secret.
const Redacted = "[redacted]"

// minSecret is the length of the shortest secret: shorter ones occur by chance.
const minSecret = 6

// Redactor takes secrets out of what is shown. Its zero value knows none.
type Redactor struct {
	words map[string]bool
	order []string // longest first
}

// Add takes in a secret in all the spellings in which it may come back.
func (r *Redactor) Add(secret string) {
	if len(secret) < minSecret {
		return
	}
	if r.words == nil {
		r.words = map[string]bool{}
	}
	quoted, _ := jsonx.Marshal(secret)
	for _, s := range []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(quoted), `"`),
		base64.StdEncoding.EncodeToString([]byte(secret)),
	} {
		r.words[s] = true
	}
	r.order = slices.SortedFunc(maps.Keys(r.words), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
}

// Text returns s without secrets.
func (r *Redactor) Text(s string) string {
	for _, word := range r.order {
		s = strings.ReplaceAll(s, word, Redacted)
	}
	return s
}

// Bytes returns b without secrets.
func (r *Redactor) Bytes(b []byte) []byte {
	for _, word := range r.order {
		b = bytes.ReplaceAll(b, []byte(word), []byte(Redacted))
	}
	return b
}

// Err returns a typed error without secrets; what it wraps is not kept, since
// its text could hold them.
func (r *Redactor) Err(err error) error {
	var e *diag.Error
	if err == nil || !errors.As(err, &e) || len(r.order) == 0 {
		return err
	}
	out := *e
	out.Message, out.Hint, out.Err = r.Text(e.Message), r.Text(e.Hint), nil
	return &out
}
