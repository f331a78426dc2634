package testkit

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
)

// hostileTexts are texts that a program can return and that programs read differently.
var hostileTexts = []string{
	"", "\xff\xfe", "a\xc3", "\x00", "\u2028\u2029", "\ufeff", "\ufffd", "\ufffe", "\U000e0001\u202e\u200b", "\r\n\x1b[2J", `\ud800`, `\u006e`, `"`, `\`, "{", `{"seq":1}`, "</script>", "null",
	`","prev":"sha256:`, "-0", "1e400", strings.Repeat("\x00", 300), strings.Repeat("\u202e", 300),
}

// hostileKeys fold by case to names of fields, or have a meaning in a log.
var hostileKeys = []string{"call_id", "CALL_ID", "Call_ID", "TURN", "turn", "ſeq", "artifacts", "Artifacts", "data", "DATA", "event", "", "\x00", "a\xff", "a\xfe", "\u2028", "K", "\u212a", "blocks", "BLOCKS"}

// HostileText returns a text of pieces that programs read differently.
func HostileText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(4) {
		b.WriteString(hostileTexts[r.IntN(len(hostileTexts))])
	}
	return b.String()
}

// HostileValue returns a value as a reader of JSON does, at most so many levels deep.
func HostileValue(r *rand.Rand, levels int) any {
	kinds := 11
	if levels > 0 {
		kinds = 14
	}
	switch r.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return math.Copysign(0, -1)
	case 3:
		return json.Number("1e400")
	case 4:
		return json.Number("9223372036854775808") // 2^63
	case 5:
		return int64(math.MaxInt64 - r.IntN(2))
	case 6:
		return json.Number("0." + strings.Repeat("1", 40))
	case 7:
		return json.Number("-0")
	case 8, 9, 10:
		return HostileText(r)
	case 11:
		list := []any{}
		for range r.IntN(4) {
			list = append(list, HostileValue(r, levels-1))
		}
		return list
	}
	return HostileObject(r, levels)
}

// HostileObject returns an object whose keys fold by case to names of fields.
func HostileObject(r *rand.Rand, levels int) map[string]any {
	out := map[string]any{}
	for range r.IntN(5) {
		// Two keys that are not UTF-8 are one key in JSON: the last one in order applies.
		out[strings.ToValidUTF8(
			hostileKeys[r.IntN(len(hostileKeys))],
			"\ufffd",
		)] = HostileValue(r, levels-1)
	}
	return out
}

// Deep returns a value with so many levels of lists and objects.
func Deep(levels int) any {
	var v any = "the end"
	for n := range levels {
		if n%2 == 0 {
			v = []any{v}
		} else {
			v = map[string]any{"in": v}
		}
	}
	return v
}

// Fill sets every exported field below v, a pointer: texts are those of text, values of the
// type any those of value, and lists and mappings have one or two of them. of has the types that have a form of
// their own.
func Fill(
	r *rand.Rand,
	v any,
	of map[reflect.Type]func() any,
	text func() string,
	value func() any,
) {
	(&filler{r, of, text, value}).fill(
		reflect.ValueOf(v).Elem(),
		10,
	)
}

type filler struct {
	r     *rand.Rand
	of    map[reflect.Type]func() any
	text  func() string
	value func() any
}

// fill sets so many levels: a type can contain itself.
func (f *filler) fill(v reflect.Value, levels int) {
	if levels == 0 {
		return
	}
	if make := f.of[v.Type()]; make != nil {
		v.Set(reflect.ValueOf(make()).Convert(v.Type()))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(1 + f.r.Int64N(1<<31-1))
	case reflect.Float64:
		v.SetFloat(f.r.Float64())
	case reflect.Interface:
		if x := f.value(); x != nil {
			v.Set(reflect.ValueOf(x))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), levels-1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				f.fill(v.Field(i), levels-1)
			}
		}
	case reflect.Slice:
		n := 1 + f.r.IntN(2)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i), levels-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 1 + f.r.IntN(2) {
			x := reflect.New(v.Type().Elem()).Elem()
			f.fill(x, levels-1)
			v.SetMapIndex(
				reflect.ValueOf(strings.ToValidUTF8(f.text(), "\ufffd")).Convert(v.Type().Key()),
				x,
			)
		}
	}
}
