package exec

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/proc"
)

const (
	redacted  = "[redacted]"
	minSecret = 6 // shorter values occur by chance
)

// redactor takes the secrets of a call out of what is shown. A secret is what
// came from outside the items: the value of a variable that the chain passes on
// from its caller, and every credential made of it.
type redactor struct {
	words map[string]bool
	order []string // longest first
}

func newRedactor(in NativeCall) *redactor {
	r := &redactor{words: map[string]bool{}}
	open := openNames(in)
	for name, value := range in.Env {
		if !open[name] {
			r.add(value)
		}
	}
	return r
}

// openNames are the variables whose values are no secret: what every program
// sees, what rye sets, and what an item says in so many words.
func openNames(in NativeCall) map[string]bool {
	open := map[string]bool{"RYE_SELF": true, "RYE_PROJECT": true}
	for _, kv := range proc.Base(proc.Environ(in.Env)) {
		name, _, _ := strings.Cut(kv, "=")
		open[name] = true
	}
	for _, el := range in.Chain.Elements {
		env, _ := el.Meta.EnvConfig["env"].(map[string]any)
		for name, v := range env {
			if text, ok := v.(string); ok && !strings.Contains(text, "${") {
				open[name] = true
			}
		}
	}
	if base := baseVariable(in.Config); base != "" {
		open[base] = true
	}
	return open
}

// add takes in a secret in all the spellings in which it may come back.
func (r *redactor) add(secret string) {
	if len(secret) < minSecret {
		return
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

func (r *redactor) text(s string) string {
	for _, word := range r.order {
		s = strings.ReplaceAll(s, word, redacted)
	}
	return s
}

func (r *redactor) bytes(b []byte) []byte {
	for _, word := range r.order {
		b = bytes.ReplaceAll(b, []byte(word), []byte(redacted))
	}
	return b
}
