package trust_test

import (
	"testing"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/trust"
)

// Package trust may not import package bundle, so the limit is written twice.
func TestMaxManifest(t *testing.T) {
	if trust.MaxManifest != bundle.MaxManifest {
		t.Errorf("trust has %d, bundle %d", trust.MaxManifest, bundle.MaxManifest)
	}
}

// The status follows from the code, and no refusal is trusted.
func TestRefuse(t *testing.T) {
	for code, want := range map[diag.Code]trust.Status{
		"": trust.Invalid, diag.Unsigned: trust.Unsigned, diag.Legacy: trust.Legacy,
		diag.KeyUnknown: trust.Untrusted, diag.Threshold: trust.Untrusted, diag.HashMismatch: trust.Invalid,
	} {
		if v := (trust.Verdict{Status: trust.Trusted}).Refuse(code, "why"); v.OK() || v.Code == "" || v.Status != want || v.Reason() != "why" {
			t.Errorf("%q: %+v", code, v)
		}
	}
	if (trust.Verdict{}).OK() {
		t.Error("the zero Verdict is trusted")
	}
}
