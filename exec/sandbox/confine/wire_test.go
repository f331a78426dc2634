//go:build unix

package confine_test

import (
	"errors"
	"reflect"
	"syscall"
	"testing"

	"github.com/ryeos/rye/exec/sandbox/confine"
)

// fill sets every field of a value to something that is not zero, so that a field which
// the wire form lacks is noticed.
func fill(v reflect.Value, n *uint64) {
	*n++
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("a\xff\x00b" + string(rune('a'+*n%26)))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n) << 20)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(*n << 20)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	default:
		panic(v.Kind())
	}
}

func TestSpecKeepsEveryField(t *testing.T) {
	want, n := &confine.Spec{}, uint64(0)
	fill(reflect.ValueOf(want).Elem(), &n)
	b := confine.AppendSpec(nil, want)
	got, err := confine.ParseSpec(b)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("ParseSpec: %v\n%+v\nwant\n%+v", err, got, want)
	}
	for i := range b { // a request that was cut is never a shorter one
		if _, err := confine.ParseSpec(b[:i]); err == nil {
			t.Fatalf("%d of %d bytes were read", i, len(b))
		}
	}
	if _, err := confine.ParseSpec(append(b, 0)); err == nil {
		t.Fatal("a byte too many was read")
	}
	empty := &confine.Spec{}
	if got, err := confine.ParseSpec(confine.AppendSpec(nil, empty)); err != nil || !reflect.DeepEqual(got, empty) {
		t.Fatalf("ParseSpec: %v %+v", err, got)
	}
}

func TestMessagesKeepEveryField(t *testing.T) {
	n := uint64(0)
	failure, end := &confine.Failure{}, &confine.End{}
	fill(reflect.ValueOf(failure).Elem(), &n)
	fill(reflect.ValueOf(end).Elem(), &n)
	list := []confine.Message{{Starting: true}, {Failure: failure}, {Listening: true}, {Exited: true}, {End: end}}
	var b []byte
	for _, m := range list {
		b = confine.AppendMessage(b, m)
	}
	for _, want := range list {
		got, rest, err := confine.ParseMessage(b)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("ParseMessage: %v\n%+v\nwant\n%+v", err, got, want)
		}
		b = rest
	}
	if len(b) > 0 {
		t.Fatalf("%d bytes are left", len(b))
	}
}

// TestOtherVersion has the words of another version, and of the one that wrote JSON.
func TestOtherVersion(t *testing.T) {
	next := func(b []byte, magic int) []byte {
		b[magic]++
		return b
	}
	for name, b := range map[string][]byte{
		"next": next(confine.AppendSpec(nil, &confine.Spec{}), len("rye sandbox\x00")), "json": []byte(`{"path":"/bin/true"}`), "nothing": nil,
	} {
		if _, err := confine.ParseSpec(b); !errors.Is(err, confine.ErrProtocol) {
			t.Errorf("ParseSpec %s: %v", name, err)
		}
	}
	for name, b := range map[string][]byte{
		"next": next(confine.AppendMessage(nil, confine.Message{Exited: true}), len("rye helper\x00")), "json": []byte(`{"exited":true}`), "nothing": nil,
	} {
		if _, _, err := confine.ParseMessage(b); !errors.Is(err, confine.ErrProtocol) {
			t.Errorf("ParseMessage %s: %v", name, err)
		}
	}
}

func FuzzParseSpec(f *testing.F) {
	spec, n := &confine.Spec{}, uint64(0)
	fill(reflect.ValueOf(spec).Elem(), &n)
	f.Add(confine.AppendSpec(nil, spec))
	f.Add(confine.AppendSpec(nil, &confine.Spec{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := confine.ParseSpec(b)
		if err != nil {
			return
		}
		again, err := confine.ParseSpec(confine.AppendSpec(nil, s))
		if err != nil || !reflect.DeepEqual(again, s) {
			t.Fatalf("%v\n%+v\nwant\n%+v", err, again, s)
		}
	})
}

func TestStartKeepsEveryField(t *testing.T) {
	want, n := &confine.Start{}, uint64(0)
	fill(reflect.ValueOf(want).Elem(), &n)
	b := confine.AppendStart(nil, want)
	got, err := confine.ParseStart(b)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("ParseStart: %v\n%+v\nwant\n%+v", err, got, want)
	}
	for i := range b {
		if _, err := confine.ParseStart(b[:i]); err == nil {
			t.Fatalf("%d of %d bytes were read", i, len(b))
		}
	}
	if _, err := confine.ParseStart(append(b, 0)); err == nil {
		t.Fatal("a byte too many was read")
	}
}

func TestAnswerOfTheStarter(t *testing.T) {
	good := confine.AppendStarted(nil, 5, 4711, 0)
	if pid, err := confine.ParseStarted(good, 5); pid != 4711 || err != nil {
		t.Errorf("%d %v", pid, err)
	}
	if pid, err := confine.ParseStarted(confine.AppendStarted(nil, 5, 0, syscall.EAGAIN), 5); pid != 0 || err != syscall.EAGAIN {
		t.Errorf("%d %v", pid, err)
	}
	for _, b := range [][]byte{good, confine.AppendStarted(nil, 5, 0, syscall.EAGAIN)} {
		if _, err := confine.ParseStarted(b, 6); err != confine.ErrOtherRequest {
			t.Errorf("%v", err)
		}
	}
	// Signals to these would reach every process, this group, or process 1.
	for _, pid := range []int{-1, 0, 1} {
		if got, err := confine.ParseStarted(confine.AppendStarted(nil, 5, pid, 0), 5); err == nil {
			t.Errorf("%d was read as %d", pid, got)
		}
	}
	for i := range good {
		if _, err := confine.ParseStarted(good[:i], 5); err == nil {
			t.Fatalf("%d of %d bytes were read", i, len(good))
		}
	}
}
