package graph

import (
	"fmt"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
)

func (p *parser) limits(g *Graph) {
	l := p.r.Map("limits")
	l.Only("turns", "tokens", "spend", "spawns", "depth", "duration_seconds")
	for _, key := range []string{"turns", "tokens", "spawns"} {
		l.Int(key, 0, 0, 1<<40)
	}
	if l.Has("spend") {
		l.TextFunc("spend", func(s string) error {
			if whole, frac, _ := strings.Cut(s, "."); whole == "" || len(frac) > 9 || strings.Trim(whole+frac, "0123456789") != "" {
				return fmt.Errorf("an amount in USD is a text such as \"0.50\"")
			}
			return nil
		})
	}
	p.unused(l, "turns", "tokens", "spend", "spawns")
	g.Limits.Depth = int(l.Int("depth", 10, 0, 64))
	g.Limits.Duration = l.Seconds("duration_seconds", g.Limits.Duration, time.Second, 86_100*time.Second)
}

// unused warns of keys that this version reads and does not apply: an author would
// rely on them.
func (p *parser) unused(r *tree.Reader, keys ...string) {
	for _, key := range keys {
		if r.Has(key) {
			pos := p.doc.At(r.Path(key))
			p.r.Add(diag.Warnf(diag.ValidationFailed, pos.Line, pos.Column, "%s has no effect in this version", r.Name(key)))
		}
	}
}
