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

// Redacted replaces a secret.
const Redacted = "[redacted]"

// minSecret is the length of the shortest secret that is redacted: shorter texts
// occur by chance.
const minSecret = 6

// Redactor removes secrets from texts. The zero value has none.
type Redactor struct {
	words map[string]bool
	order []string // longest first
}

// Add adds a secret in every encoding in which a server may return it.
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
		return cmp.Or(
			cmp.Compare(len(b), len(a)),
			cmp.Compare(a, b),
		)
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

// Err returns a typed error without secrets in its message and in the texts of
// its details. The wrapped error is dropped, since its text could contain them.
func (r *Redactor) Err(err error) error {
	var e *diag.Error
	if err == nil ||
		!errors.As(err, &e) ||
		len(r.order) == 0 {
		return err
	}
	out := *e
	out.Message = r.Text(e.Message)
	out.Err = nil
	out.Details = maps.Clone(e.Details)
	for k, v := range out.Details {
		if s, ok := v.(string); ok {
			out.Details[k] = r.Text(s)
		}
	}
	return &out
}
