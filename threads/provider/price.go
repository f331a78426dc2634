package provider

import (
	"errors"
	"math/big"
	"strconv"
	"strings"

	"github.com/ryeos/rye/threads/message"
)

// Prices are prices of one token in pico-USD: a price in USD for a million tokens,
// with its six decimals, is a whole number of them. A negative one is not declared.
type Prices struct {
	Input, CacheRead, CacheWrite5m, CacheWrite1h, Output int64
}

// Above are the prices of a call whose input has more than Input tokens. A negative
// price is the one below the threshold.
type Above struct {
	Input  int64
	Prices Prices
}

// parsePrice parses USD as a decimal with at most 6 decimals and returns millionths.
func parsePrice(s string) (int64, error) {
	bad := errors.New("must be a price in USD such as \"0.30\", with at most 6 decimals")
	whole, fraction, point := strings.Cut(s, ".")
	if whole == "" ||
		point && fraction == "" ||
		len(fraction) > 6 ||
		len(whole) > 6 {
		return 0, bad
	}
	digits := whole + fraction + strings.Repeat("0", 6-len(fraction))
	if strings.Trim(digits, "0123456789") != "" {
		return 0, bad
	}
	return strconv.ParseInt(digits, 10, 64)
}

// inputMax returns the dearest declared price of an input token.
func (p Prices) inputMax() int64 {
	return max(p.Input, p.CacheRead, p.CacheWrite5m, p.CacheWrite1h, 0)
}

// over returns the prices p, with the prices of below where p declares none.
func (p Prices) over(below Prices) Prices {
	pick := func(a, b int64) int64 {
		if a >= 0 {
			return a
		}
		return b
	}
	return Prices{
		pick(p.Input, below.Input), pick(p.CacheRead, below.CacheRead), pick(p.CacheWrite5m, below.CacheWrite5m),
		pick(p.CacheWrite1h, below.CacheWrite1h), pick(p.Output, below.Output),
	}
}

// at returns the prices of a call with that many input tokens.
func (m *Model) at(input int64) Prices {
	p := m.Prices
	reached := int64(-1)
	for _, a := range m.Above {
		if input > a.Input && a.Input > reached {
			p = a.Prices.over(m.Prices)
			reached = a.Input
		}
	}
	return p
}

// pico returns the cost of a usage by the prices of the model. A counter without a
// price has the dearest one of the input.
func (m *Model) pico(u message.Usage) *big.Int {
	p := m.at(u.InputTotal())
	sum := new(big.Int)
	add := func(n, price int64) {
		if price < 0 {
			price = p.inputMax()
		}
		sum.Add(sum, new(big.Int).Mul(
			big.NewInt(max(n, 0)),
			big.NewInt(price),
		))
	}
	add(u.Input, p.Input)
	add(u.CacheRead, p.CacheRead)
	add(u.CacheWrite5m, p.CacheWrite5m)
	add(u.CacheWrite1h, p.CacheWrite1h)
	add(u.Output, p.Output)
	for name, n := range u.Requests {
		add(n, m.Requests[name])
	}
	return sum
}

// maxCall is the largest amount that one call can cost, a million USD: a call of a service
// that states absurd counts must leave sums that the log and the ledger can keep.
const maxCall = 1_000_000_000_000_000

// nano converts to nano-USD, rounded up, at most maxCall.
func nano(pico *big.Int) int64 {
	q, r := new(big.Int).QuoRem(
		pico,
		big.NewInt(1000),
		new(big.Int),
	)
	if r.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	if !q.IsInt64() {
		return maxCall
	}
	return min(q.Int64(), maxCall)
}

// Cost returns the cost of a call in nano-USD. model is the one that answered.
// assumed reports that the item does not describe it, so that the price is the
// dearest of the item. If that is 0, the name of the model does not matter.
func (c *Config) Cost(model string, u message.Usage) (cost int64, assumed bool) {
	if c.Billing == "subscription" {
		return 0, false
	}
	sum := new(big.Int)
	parts := u.ByModel
	if len(parts) == 0 {
		parts = []message.ModelUsage{{Model: model, Usage: u}}
	}
	for _, part := range parts {
		pico, known := c.picoOf(part.Model, part.Usage)
		sum.Add(sum, pico)
		assumed = assumed || !known
	}
	return nano(sum), assumed
}

// picoOf returns the price of a usage by a model, or the dearest one of the item.
func (c *Config) picoOf(model string, u message.Usage) (*big.Int, bool) {
	if m := c.answering(model); m != nil {
		return m.pico(u), true
	}
	dearest := new(big.Int)
	for _, m := range c.Models {
		if p := m.pico(u); p.Cmp(dearest) > 0 {
			dearest = p
		}
	}
	return dearest, dearest.Sign() == 0
}

// answering returns the model that the service calls by a name, or nil.
func (c *Config) answering(name string) *Model {
	if m := c.Models[name]; m != nil {
		return m
	}
	for _, m := range c.Models {
		for _, other := range m.Names {
			if other == name {
				return m
			}
		}
	}
	return nil
}

// Previous is the call before, in the same conversation.
type Previous struct {
	Usage message.Usage
	Bytes int64 // Reservation.Bytes of that call
	Media int64 // Reservation.Media of that call
}

// Reservation is the most that a call can cost.
type Reservation struct {
	Input  int64 `json:"input_estimate"` // tokens
	Output int64 `json:"max_output"`     // tokens, with those for reasoning
	Bytes  int64 `json:"bytes"`          // of the encoded request without images
	Media  int64 `json:"media"`          // tokens of images and files
	Amount int64 `json:"reserved"`       // nano-USD
}

// WorstCase returns the most that a call can cost. prev is the call before whose
// messages the request has too, or nil. A token is at least two bytes of new text.
func (c *Config) WorstCase(req message.Request, prev *Previous) (Reservation, error) {
	m, err := c.Model(req.Model)
	if err != nil {
		return Reservation{}, err
	}
	body, err := c.encode(c.shape(req, m), m)
	if err != nil {
		return Reservation{}, err
	}
	images, imageBytes := m.mediaOf(req)
	r := Reservation{Bytes: int64(len(body)) - imageBytes, Media: images}
	r.Output, _ = m.output(req)
	switch fresh := r.Bytes; {
	case prev != nil && prev.Bytes > 0 && prev.Bytes <= r.Bytes:
		fresh -= prev.Bytes
		r.Input = prev.Usage.Total() + half(fresh) + max(images-prev.Media, 0)
	default:
		r.Input = half(fresh) + images
	}
	r.Amount = c.ceiling(m, r.Input, r.Output)
	return r, nil
}

// Exact returns r for a number of input tokens that the service counted.
func (c *Config) Exact(req message.Request, r Reservation, input int64) (Reservation, error) {
	m, err := c.Model(req.Model)
	if err != nil {
		return r, err
	}
	r.Input = input
	r.Amount = c.ceiling(m, r.Input, r.Output)
	return r, nil
}

// ceiling returns the price of a call if every input token has the dearest price.
func (c *Config) ceiling(m *Model, input, output int64) int64 {
	if c.Billing == "subscription" {
		return 0
	}
	p := m.at(input)
	// Only writes to the cache that the request asks for are billed, except by a service
	// that writes by itself and states it.
	if m.Cache.Marks == 0 || m.Cache.TTL != "1h" {
		p.CacheWrite1h = -1
	}
	if (m.Cache.Marks == 0 || m.Cache.TTL != "5m") &&
		c.Dialect != Responses &&
		c.Dialect != Mapped {
		p.CacheWrite5m = -1
	}
	sum := new(big.Int).Mul(
		big.NewInt(input),
		big.NewInt(p.inputMax()),
	)
	return nano(sum.Add(sum, new(big.Int).Mul(
		big.NewInt(output),
		big.NewInt(max(p.Output, 0)),
	)))
}

// half returns n/2, rounded up.
func half(n int64) int64 {
	return (n + 1) / 2
}
