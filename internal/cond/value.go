package cond

import (
	"cmp"
	"encoding/json"
	"math"
	"math/big"
	"strings"
)

// class is the type of a value in comparisons. All numbers are one type.
type class byte

const (
	other class = iota
	null
	boolean
	number
	text
	list
	mapping
)

func classOf(v any) class {
	switch v := v.(type) {
	case nil:
		return null
	case bool:
		return boolean
	case int64, int, float64:
		return number
	case json.Number:
		if _, ok := rat(v); ok {
			return number
		}
	case string:
		return text
	case []any:
		return list
	case map[string]any:
		return mapping
	}
	return other
}

func sameType(a, b any) bool {
	return classOf(a) == classOf(b) && classOf(a) != other
}

// equal reports whether two values have the same type and are equal.
func equal(a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	case string:
		y, ok := b.(string)
		return ok && x == y
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, has := y[k]
			if !has || !equal(v, w) {
				return false
			}
		}
		return true
	}
	n, ok := numbers(a, b)
	return ok && n == 0
}

// order compares two numbers or two texts. ok is false for other values.
func order(a, b any) (n int, ok bool) {
	if x, is := a.(string); is {
		y, is := b.(string)
		return strings.Compare(x, y), is
	}
	return numbers(a, b)
}

// exact is the largest integer up to which a float64 represents every integer.
const exact = 1 << 53

// numbers compares two numbers exactly: 9007199254740993 is not 9007199254740992.0.
func numbers(a, b any) (n int, ok bool) {
	if x, is := whole(a); is {
		if y, is := whole(b); is {
			return cmp.Compare(x, y), true
		}
	}
	x, xOK := small(a)
	y, yOK := small(b)
	if xOK && yOK {
		return cmp.Compare(x, y), true
	}
	if classOf(a) != number || classOf(b) != number {
		return 0, false
	}
	p, pOK := rat(a)
	q, qOK := rat(b)
	if !pOK || !qOK {
		return 0, false
	}
	return p.Cmp(q), true
}

func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	}
	return 0, false
}

// small returns a number as float64 if no digit is lost.
func small(v any) (float64, bool) {
	if i, ok := whole(v); ok {
		return float64(i), -exact <= i && i <= exact
	}
	f, ok := v.(float64)
	return f, ok && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// maxDigits bounds the exponent of a json.Number, whose exact value 1e999999999
// would need a gigabyte.
const maxDigits = 400

// rat returns the exact value of a number.
func rat(v any) (*big.Rat, bool) {
	if i, ok := whole(v); ok {
		return new(big.Rat).SetInt64(i), true
	}
	switch v := v.(type) {
	case float64:
		r := new(big.Rat).SetFloat64(v)
		return r, r != nil
	case json.Number:
		if len(v) > maxDigits {
			return nil, false
		}
		f, err := v.Float64()
		if err != nil || f == 0 || math.Abs(f) < 1e-300 {
			// Beyond the range of a float64 only an integer without exponent is read.
			i, ok := new(big.Int).SetString(string(v), 10)
			if !ok {
				return nil, false
			}
			return new(big.Rat).SetInt(i), true
		}
		return new(big.Rat).SetString(string(v))
	}
	return nil, false
}
