package provider

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/ryeos/rye/threads/message"
)

// maxCount is the largest number of tokens that one answer can have. No window of a model
// has a hundredth of it.
const maxCount = 1_000_000_000

// count reads a number of tokens: a number, also with a fraction or as a text. ok is false
// for a value that no answer can have, which is never a reason to lose the answer.
func count(raw []byte) (n int64, ok bool) {
	text := string(raw)
	if len(raw) > 0 && raw[0] == '"' {
		text = strings.TrimSpace(unquote(raw))
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > maxCount {
		return 0, false
	}
	return int64(math.Ceil(f)), true
}

// counted reads the counters of an object and remembers how many were stated that no
// answer can have.
type counted struct {
	doubtful int64
}

// read returns a counter, nil if it is not stated or cannot be.
func (c *counted) read(f fields, key string) *int64 {
	raw := f.get(key)
	if raw == nil {
		return nil
	}
	n, ok := count(raw)
	if !ok {
		c.doubtful++
		return nil
	}
	return &n
}

// within returns an object in an object, or none.
func (f fields) within(key string) fields {
	inner, _ := readFields(f.get(key))
	return inner
}

// counts are the counters of an answer so far. The estimate replaces the input and the
// output that the service did not state.
type counts struct {
	message.Usage
	input, output bool // stated
}

// estimated returns the usage with estimates in place of the counters that are not stated.
func (c counts) estimated(input, output int64) message.Usage {
	u := c.Usage
	if !c.input {
		u.Input = input
	}
	if !c.input || !c.output { // a service that leaves one out can be wrong about the other
		u.Output = max(u.Output, output)
		u.Assumed = 1
	}
	return u
}

// totals are the counters of services whose input includes what a cache gave or took, and
// whose output includes the reasoning.
type totals struct {
	input, cached, written, output, reasoning, total *int64
	doubtful                                         int64
}

// counts returns the counters. A service that counts the reasoning next to the output has a
// total that is larger than the sum, or less output than reasoning.
func (t totals) counts() counts {
	in := value(t.input)
	out := value(t.output)
	if t.input != nil {
		out = max(out, value(t.total)-in)
	}
	out = max(out, value(t.reasoning))
	u := tokens(
		in,
		value(t.cached),
		value(t.written),
		out,
		value(t.reasoning),
	)
	u.Doubtful = t.doubtful
	return counts{Usage: u, input: t.input != nil, output: t.output != nil || t.input != nil && t.total != nil}
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// number reads an index.
func number(raw []byte) *int64 {
	var n int64
	if raw == nil || json.Unmarshal(raw, &n) != nil {
		return nil
	}
	return &n
}
