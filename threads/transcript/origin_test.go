package transcript

import (
	"errors"
	"os"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
)

// TestOrigin: a log without a checkpoint is continued only by the account that began it.
func TestOrigin(t *testing.T) {
	p := params(t)
	l, err := Create(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Commit(t.Context(), "noted", note{Text: "x"}), l.Close()); err != nil {
		t.Fatal(err)
	}
	file := p.base().Path(OriginFile)
	own, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	open := func(p Params) error {
		l, _, _, err := Open(t.Context(), p)
		if err == nil {
			err = l.Close()
		}
		return err
	}
	if err := open(p); err != nil {
		t.Fatal(err)
	}
	stranger := p
	stranger.Keys = func(sign.Fingerprint) ([]byte, bool) { return nil, false }
	if err := open(stranger); diag.CodeOf(err) != diag.KeyUnknown {
		t.Errorf("by another account: %v", err)
	}
	other := p
	other.ID = "other-01"
	o, err := Create(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	foreign, err := os.ReadFile(other.base().Path(OriginFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"of another log": foreign, "empty": nil, "half": own[:len(own)/2], "a text": []byte("{}")} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := open(p); diag.CodeOf(err) != diag.KeyUnknown {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := open(p); diag.CodeOf(err) != diag.KeyUnknown {
		t.Errorf("without an origin: %v", err)
	}
}
