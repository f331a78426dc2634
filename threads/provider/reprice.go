package provider

import (
	"time"

	"github.com/ryeos/rye/internal/tree"
)

// Reprice sets prices of a provider from one layer of config:agent/prices. r reads the
// entry of the provider: as_of, source and models. A layer that may not lower prices can
// only raise them: a lower price would let a thread spend more than its maximum. It
// returns the names of models that the provider does not have.
func (c *Config) Reprice(r *tree.Reader, lower bool) (unknown []string) {
	r.Only("as_of", "source", "models")
	r.Require("as_of", "models")
	asOf := readDate(r, "as_of")
	models := r.Map("models")
	for _, id := range models.Keys() {
		over := models.Map(id)
		over.Only("prices", "above", "requests")
		over.Require("prices")
		m := c.Models[id]
		if m == nil {
			unknown = append(unknown, id)
			readPrices(over, &Model{}) // its errors are errors
			continue
		}
		next := *m
		next.Above = nil
		next.Requests = nil
		readPrices(over, &next)
		if !lower {
			for _, key := range []string{"above", "requests"} {
				if over.Has(key) {
					over.Reject(key, "can be set by your own configuration only, not by a project")
				}
			}
			next.raise(m)
		}
		next.PricesAs, next.PricesURL = asOf, r.Text("source")
		c.Models[id] = &next
	}
	return unknown
}

// raise keeps each price of before that is higher.
func (m *Model) raise(before *Model) {
	m.Prices = m.Prices.atLeast(before.Prices)
	for _, a := range before.Above {
		m.Above = append(m.Above, Above{a.Input, a.Prices.over(before.Prices).atLeast(m.Prices)})
	}
	m.Requests = before.Requests
}

// atLeast returns the higher one of each price. An undeclared price is the dearest one
// of the input.
func (p Prices) atLeast(q Prices) Prices {
	pick := func(a, b int64) int64 {
		if a < 0 && b < 0 {
			return -1
		}
		if a < 0 {
			a = p.inputMax()
		}
		if b < 0 {
			b = q.inputMax()
		}
		return max(a, b)
	}
	return Prices{
		pick(p.Input, q.Input), pick(p.CacheRead, q.CacheRead), pick(p.CacheWrite5m, q.CacheWrite5m),
		pick(p.CacheWrite1h, q.CacheWrite1h), pick(p.Output, q.Output),
	}
}

// readDate reads a date such as 2026-11-01, "" if it is absent.
func readDate(r *tree.Reader, key string) string {
	s := r.Text(key)
	_, err := time.Parse(time.DateOnly, s)
	if s != "" && err != nil {
		r.Reject(key, "must be a date such as \"2026-11-01\", not %q", s)
	}
	return s
}
