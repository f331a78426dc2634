package diag

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestJoin(t *testing.T) {
	plain := errors.New("plain")
	one := New(ItemNotFound, "finding x: nothing").WithReason("look")
	// A refusal whose findings only warn is still a refusal.
	warned := &Error{Code: KeyUnknown, Message: "verifying x: unknown", Findings: []Finding{Warnf(HiddenChars, 3, 1, "odd")}}
	many := FromFindings("reading", []Finding{Errorf(ParsingError, 1, 1, "a"), Errorf(ParsingError, 2, 1, "b")})

	if Join("x", nil) != nil {
		t.Error("no error became one")
	}
	if got := Join("x", []error{one}); got != error(one) {
		t.Errorf("one error became %v", got)
	}
	for _, c := range []struct {
		errs []error
		code Code
		n    int
	}{
		{[]error{plain, one}, UnknownError, 2},
		{[]error{one, warned}, KeyUnknown, 3}, // exit 7 before 4
		{[]error{many, one}, ParsingError, 3},
		{[]error{warned, warned}, KeyUnknown, 4},
		{[]error{fmt.Errorf("wrapped: %w", one), many}, ItemNotFound, 3},
	} {
		err := Join("doing", c.errs)
		if CodeOf(err) != c.code || len(FindingsOf(err)) != c.n || !strings.HasPrefix(err.Error(), "doing: ") {
			t.Errorf("%v: %v with %d findings, want %s with %d", c.errs, err, len(FindingsOf(err)), c.code, c.n)
		}
	}
	if fs := FindingsOf(Join("x", []error{one, plain})); fs[0].Reason != "look" {
		t.Errorf("the reason is lost: %+v", fs)
	}
}

// Worst decides the exit status: 6, 5, 7, 3, then the first error.
func TestWorst(t *testing.T) {
	of := func(codes ...Code) (fs []Finding) {
		for _, c := range codes {
			fs = append(fs, Errorf(c, 0, 0, "x"))
		}
		return fs
	}
	for _, c := range []struct {
		fs   []Finding
		want Code
	}{
		{nil, ""},
		{[]Finding{Warnf(TagMoved, 0, 0, "x")}, ""},
		{of(ParsingError, ItemNotFound), ParsingError},
		{of(ItemNotFound, LockStale), LockStale},
		{of(LockStale, Unsigned), Unsigned},
		{of(Unsigned, KeyUnknown, HashMismatch), HashMismatch},
		{of(HashMismatch, TagMoved), TagMoved},
	} {
		if got := Worst(c.fs); got != c.want {
			t.Errorf("%v: %q, want %q", c.fs, got, c.want)
		}
		if err := FromFindings("x", c.fs); (err == nil) != (c.want == "") || CodeOf(err) != c.want {
			t.Errorf("%v: error %v", c.fs, err)
		}
	}
}
