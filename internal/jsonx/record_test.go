package jsonx

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestRecord(t *testing.T) {
	deep := strings.Repeat("[", 1500) + strings.Repeat("]", 1500)
	for in, want := range map[string]any{
		`{"a":1,"a":2}`: map[string]any{"a": int64(2)}, `"\ud800x"`: "\ufffdx", `1e999`: json.Number("1e999"), `[9007199254740993, 0.5]`: []any{int64(9007199254740993), 0.5},
		`null`: nil, `{"a":{"b":[1]}}`: map[string]any{"a": map[string]any{"b": []any{int64(1)}}}, `18446744073709551616`: json.Number("18446744073709551616"),
	} {
		got, err := Record([]byte(in))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, %v", in, got, err)
		}
	}
	if _, err := Record([]byte(deep)); err != nil {
		t.Errorf("1,500 deep: %v", err)
	}
	for _, in := range []string{"", "{", "1 2", `{"a":01}`} {
		if v, err := Record([]byte(in)); err == nil {
			t.Errorf("%s: %#v", in, v)
		}
	}
}

func TestDecode(t *testing.T) {
	type inner struct{ Any any }
	type data struct {
		Any   any
		Map   map[string]any
		List  []any
		Inner []inner
		Ptr   *inner
		Typed map[string]int64
		Raw   json.RawMessage
		Exact json.Number
		None  any
	}
	var got data
	err := Decode([]byte(`{"Any":9007199254740993,"Map":{"a":1e999,"b":null},"List":[1],"Inner":[{"Any":{"x":2}}],"Ptr":{"Any":[1.5]},"Typed":{"n":3},"Raw":1.0,"Exact":4}`), &got)
	want := data{Any: int64(9007199254740993), Map: map[string]any{"a": json.Number("1e999"), "b": nil}, List: []any{int64(1)}, Inner: []inner{{map[string]any{"x": int64(2)}}},
		Ptr: &inner{[]any{1.5}}, Typed: map[string]int64{"n": 3}, Raw: json.RawMessage("1.0"), Exact: "4"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, %v", got, err)
	}
}

func TestAmbiguous(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":[1,"x"]}`: "", `18446744073709551616`: "", `[[[1]]]`: "", `1e308`: "",
		`{"a":1,"\u0061":2}`: "duplicate key", `"\udc00"`: "half of a surrogate pair", `1e999`: "too large", `{"a":{"b":-1e999}}`: "too large",
		`[[[[1]]]]`: "nested too deep", `{`: "required", "\"\xff\"": "not UTF-8",
	} {
		if got := Ambiguous([]byte(in), 3); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// FuzzRecord checks that every value that is written is read as a record, as the value that the first reading has: also of
// texts with two meanings.
func FuzzRecord(f *testing.F) {
	for _, s := range []string{`{"a":1,"a":{"b":2}}`, `["\ud800","\ud83d\ude00",""]`, `[1e999,-0,1E400,0.1e-400,12345678901234567890]`, strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), "\"\xff\u202e\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Record(b)
		if (err == nil) != json.Valid(b) {
			t.Fatalf("%q: %v", b, err)
		}
		if err != nil {
			return
		}
		out, err := Marshal(v)
		if err != nil {
			t.Fatalf("%q is read and cannot be written: %v", b, err)
		}
		again, err := Record(out)
		if err != nil {
			t.Fatalf("%q is written as %q, which is not read: %v", b, out, err)
		}
		third, err := Marshal(again)
		if err != nil || string(third) != string(out) {
			t.Fatalf("%q is written as %q and then as %q, %v", b, out, third, err)
		}
		if Ambiguous(b, 1000) == "" {
			strict, found := ParseMessage(b)
			if len(found) > 0 || !reflect.DeepEqual(strict, v) {
				t.Fatalf("%q has one meaning, and is %#v or %#v", b, strict, v)
			}
		}
	})
}
