package schema

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxExponent bounds the numbers that are compared exactly: 1e999999999 would need
// a gigabyte.
const maxExponent = 4000

// rational returns the exact value of a number, nil for other values. A number with
// a larger exponent than maxExponent is treated as one with that exponent.
func rational(v any) *big.Rat {
	switch v := v.(type) {
	case int:
		return new(big.Rat).SetInt64(int64(v))
	case int64:
		return new(big.Rat).SetInt64(v)
	case float64:
		// The shortest decimal form: 0.1 is one tenth.
		r, _ := new(big.Rat).SetString(strconv.FormatFloat(v, 'g', -1, 64))
		return r
	case json.Number:
		return decimal(v.String())
	}
	return nil
}

func decimal(text string) *big.Rat {
	digits, exponent, ok := strings.Cut(strings.ToLower(text), "e")
	if ok {
		e, err := strconv.Atoi(exponent)
		switch {
		case err != nil && strings.HasPrefix(exponent, "-") || e < -maxExponent:
			e = -maxExponent
		case err != nil || e > maxExponent:
			e = maxExponent
		}
		text = digits + "e" + strconv.Itoa(e)
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

// count returns the value of a keyword such as minLength, nil if it is not a number of that sort.
func count(v any) *int {
	r := rational(v)
	if r == nil || !r.IsInt() {
		return nil
	}
	n := math.MaxInt
	if r.Num().IsInt64() {
		n = int(min(r.Num().Int64(), math.MaxInt))
	}
	return &n
}

func num(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
