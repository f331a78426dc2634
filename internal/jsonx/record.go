package jsonx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
)

// Record reads one JSON value of a record whose bytes are protected by a hash. Every valid text
// is read: the last one of equal keys applies, half of a surrogate pair is U+FFFD, and numbers
// are as ParseMessage returns them. Its bytes cannot be changed, so refusing a text that an
// earlier version wrote would protect nothing.
func Record(b []byte) (any, error) {
	var v any
	err := Decode(b, &v)
	return v, err
}

// Decode reads a record into v as encoding/json does, except that numbers in values of the type
// any are as ParseMessage returns them: no digit is lost, and none is too large.
func Decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("unexpected text after the value")
	}
	numbers(reflect.ValueOf(v))
	return nil
}

// numbers replaces each json.Number in a value of the type any, also in structs, lists and mappings.
func numbers(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			numbers(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() && v.CanSet() && v.NumMethod() == 0 {
			v.Set(anyOf(plainNumbers(v.Interface())))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				numbers(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		if holdsAny(v.Type().Elem()) {
			for i := range v.Len() {
				numbers(v.Index(i))
			}
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.Interface {
			for _, key := range v.MapKeys() {
				v.SetMapIndex(key, anyOf(plainNumbers(v.MapIndex(key).Interface())))
			}
		}
	}
}

// holdsAny reports whether values of a type can have a value of the type any in them.
func holdsAny(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer,
		reflect.Interface,
		reflect.Struct,
		reflect.Slice,
		reflect.Array,
		reflect.Map:
		return true
	}
	return false
}

// anyOf is reflect.ValueOf, and the zero value of any for nil.
func anyOf(v any) reflect.Value {
	if v == nil {
		return reflect.Zero(reflect.TypeFor[any]())
	}
	return reflect.ValueOf(v)
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return Number(string(v))
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}

// Ambiguous returns why programs read a JSON text differently, or refuse it, "" if it has one meaning everywhere: it is not
// JSON, has a key twice, half of a surrogate pair, a number beyond float64, or is nested deeper than most.
func Ambiguous(b []byte, most int) string {
	v, found := ParseMessage(b)
	if len(found) > 0 {
		return found[0].Message
	}
	return tooLarge(v, most)
}

func tooLarge(v any, most int) string {
	var inner []any
	switch v := v.(type) {
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil || math.IsInf(f, 0) {
			return fmt.Sprintf("the number %.40s is too large", string(v))
		}
		return ""
	case []any:
		inner = v
	case map[string]any:
		for _, x := range v {
			inner = append(inner, x)
		}
	default:
		return ""
	}
	if most == 0 {
		return "nested too deep"
	}
	for _, x := range inner {
		if problem := tooLarge(x, most-1); problem != "" {
			return problem
		}
	}
	return ""
}
