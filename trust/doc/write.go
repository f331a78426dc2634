package doc

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tomlx"
	"github.com/ryeos/rye/sign"
)

// writer writes the TOML of a document.
type writer struct{ b strings.Builder }

func (w *writer) line(key, value string) {
	w.b.WriteString(key + " = " + value + "\n")
}

func (w *writer) str(key, value string) {
	w.line(key, tomlx.Quote(value))
}

func (w *writer) time(key string, t time.Time) {
	w.line(key, t.UTC().Format("2006-01-02T15:04:05Z"))
}

// list writes nothing if the list is empty.
func (w *writer) list(key string, list []string) {
	if len(list) == 0 {
		return
	}
	quotes := make([]string, len(list))
	for i, s := range list {
		quotes[i] = tomlx.Quote(s)
	}
	w.line(key, "["+strings.Join(quotes, ", ")+"]")
}

func (w *writer) head(kind string) {
	w.str("schema", Schema)
	w.str("kind", kind)
}

func (w *writer) public(signer sign.Signer) {
	w.str("algorithm", "ed25519")
	w.str("public-key", base64.StdEncoding.EncodeToString(signer.Public()))
}

func (w *writer) validity(from, to time.Time) {
	w.b.WriteString("\n[validity]\n")
	w.time("not-before", from)
	w.time("not-after", to)
}

func (w *writer) scope(s Scope) {
	w.b.WriteString("\n[scope]\n")
	w.list("kinds", s.Kinds)
	w.list("namespaces", s.Namespaces)
	w.list("may", s.May)
}

// sign signs the text under that file stem. It reads the result back with the
// strict parser, so that an invalid document is never returned.
func (w *writer) sign(
	ctx context.Context,
	kind, stem string,
	signer sign.Signer,
	now time.Time,
) (string, []byte, error) {
	name := stem + ".toml"
	b, _, err := sign.Sign(
		ctx,
		[]byte(w.b.String()),
		style(),
		subject(kind, stem),
		signer,
		now,
	)
	if err != nil {
		return "", nil, err
	}
	if _, fs := Parse(name, b); diag.Failed(fs) {
		return "", nil, diag.FromFindings("writing a trust document", fs)
	}
	return name, b, nil
}
