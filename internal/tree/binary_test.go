package tree

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"
)

func binaryValues() []any {
	return []any{
		nil, true, false, int64(0), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), 1.5, math.Copysign(0, -1), "", "text é\x00", json.Number("123456789012345678901"),
		[]any{}, map[string]any{}, []any{int64(1), []any{"a", nil}, map[string]any{"k": map[string]any{"": []any{true}}}},
	}
}

func TestBinary(t *testing.T) {
	for _, v := range binaryValues() {
		b, ok := Append([]byte("x"), v)
		if !ok {
			t.Fatalf("%#v is not written", v)
		}
		got, rest, err := Decode(string(b[1:]) + "rest")
		if err != nil || rest != "rest" || !reflect.DeepEqual(got, v) {
			t.Errorf("%#v: %#v, %q, %v", v, got, rest, err)
		}
		for n := range len(b) - 1 {
			if _, _, err := Decode(string(b[1 : 1+n])); err == nil {
				t.Errorf("%#v is read from %d of %d bytes", v, n, len(b)-1)
			}
		}
	}
	for _, v := range []any{time.Time{}, 1, []any{uint8(1)}, map[string]any{"a": struct{}{}}} {
		if _, ok := Append(nil, v); ok {
			t.Errorf("%#v is written", v)
		}
	}
}

// FuzzDecode: no text makes Decode panic, or take memory that the text does not have.
func FuzzDecode(f *testing.F) {
	for _, v := range binaryValues() {
		b, _ := Append(nil, v)
		f.Add(string(b))
	}
	f.Add("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
	f.Fuzz(func(t *testing.T, s string) {
		v, _, err := Decode(s)
		if err != nil {
			return
		}
		b, ok := Append(nil, v)
		if !ok {
			t.Fatalf("%#v is read and not written", v)
		}
		if _, rest, err := Decode(string(b)); err != nil || rest != "" {
			t.Fatalf("%#v: %q, %v", v, rest, err)
		}
	})
}
