package trust_test

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/trust"
)

// An endorsement that lets a key sign does not let it name a successor, though
// the key's own document wishes so.
func TestEndorsedKeyMayNotRotateUnlessEndorsedTo(t *testing.T) {
	for _, tc := range []struct {
		anchor, endorsed []string
		want             diag.Code
	}{
		{[]string{"sign", "endorse"}, []string{"sign"}, diag.KeyUnknown},
		{[]string{"sign", "endorse"}, []string{"sign", "rotate"}, diag.KeyUnknown},
		{[]string{"sign", "endorse", "rotate"}, []string{"sign", "rotate"}, ""},
	} {
		w := team(t, tc.anchor...)
		w.endorse(w.propose(key(3), "ben", turning()), scopeOf(tc.endorsed...), key(2))
		w.rotate(w.project, key(3), key(4))
		s, _ := w.load()
		wantCode(t, strings.Join(tc.anchor, ",")+" endorses for "+strings.Join(tc.endorsed, ","), s.Verify(w.tool(key(4), "a/b", w.now)), tc.want)
	}
}

// T23, V66: a scope is shown at the very prompt that asks what to grant, so no
// document may hold one that steers a terminal.
func TestV66NamespacesSteerNoTerminal(t *testing.T) {
	w := newWorld(t)
	for _, ns := range []string{`eve/\u001b[2K]`, `eve/\u001bc`, `eve/\u009b2K`, `eve\r`, `eve\nx`, `eve/\u202e**`, `eve/ x`, `\u200b`} {
		text := strings.Replace(keyText(key(9), "eve"), `namespaces = ["**"]`, `namespaces = ["`+ns+`"]`, 1)
		name := keyStem(key(9)) + ".toml"
		d, fs := trust.ParseDocument(name, w.signed(trust.KindKey, keyStem(key(9)), text, key(9)))
		if d != nil {
			t.Errorf("%s: scope %q", ns, d.Scope.Namespaces)
		}
		wantFinding(t, ns, fs, diag.ValidationFailed, name, "visible ASCII")
	}
}
