package trust_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// An endorsement that permits a key to sign does not permit it to name a
// successor, although the key's own document asks for it.
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
		d, fs := doc.Parse(name, w.signed(doc.KindKey, keyStem(key(9)), text, key(9)))
		if d != nil {
			t.Errorf("%s: scope %q", ns, d.(*doc.Key).Scope.Namespaces)
		}
		wantFinding(t, ns, fs, diag.ValidationFailed, name, "visible ASCII")
	}
}

// Another account of the machine accepts nothing in the user's name, neither by
// a file of its own nor in a folder that it may write.
func TestAcceptanceByAnotherAccount(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("access lists keep others out")
	}
	w := proposing(t)
	file := w.accept()
	in := w.tool(key(3), "a/b", w.now)
	wantCode(t, "accepted", w.clean().Verify(in), "")
	if err := os.Chmod(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	s, fs := w.load()
	wantFinding(t, "an open folder", fs, diag.ConfigError, file, "its directory: other accounts may write it")
	wantCode(t, "an open folder", s.Verify(in), diag.KeyUnknown)
	if err := os.Chmod(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(file, 12345, -1); err != nil {
		t.Skip("only root gives files away")
	}
	s, fs = w.load()
	wantFinding(t, "another's file", fs, diag.ConfigError, file, "another account wrote it")
	wantCode(t, "another's file", s.Verify(in), diag.KeyUnknown)
}

// T22: a project brings only so much to read. What is passed over keeps the set
// from being accepted.
func TestT22ProjectBringsTooMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a directory up to its limit")
	}
	w := proposing(t)
	text := "schema = \"rye.trust/v1\"\nkind = \"key\"\n"
	for i := range 4000 {
		text += fmt.Sprintf("k%d = 1\n", i)
	}
	for i := range trust.MaxProject/len(text) + 2 {
		w.write(w.project, fmt.Sprintf("a%04d.toml", i), []byte(text))
	}
	s, fs := w.load()
	if n := len(s.ProjectSet().Documents); n > trust.MaxProject/len(text)+1 {
		t.Errorf("%d documents were read", n)
	}
	if len(fs) > 40*len(s.ProjectSet().Documents) {
		t.Errorf("%d findings", len(fs))
	}
	if !slices.ContainsFunc(fs, func(f diag.Finding) bool { return f.Code == diag.TooLarge }) {
		t.Errorf("no finding about the documents that were not read: %v", fs[:3])
	}
	if _, err := trust.Accept(w.p, s.ProjectSet()); diag.CodeOf(err) != diag.ValidationFailed {
		t.Errorf("accepted: %v", err)
	}
}

// If a project's trust directory is a link into a directory of anchors, an
// endorsement in it does not add an anchor.
func TestNoDocumentThroughALink(t *testing.T) {
	w := newWorld(t)
	name, keyDoc := w.document(key(3), "eve", everything)
	for _, linked := range []string{".ai/trust", ".ai"} {
		root := t.TempDir()
		link := filepath.Join(root, filepath.FromSlash(linked))
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(w.sysDir, link); err != nil {
			t.Skip(err)
		}
		if at, err := trust.AddToProject(filepath.Join(root, ".ai", "trust"), name, keyDoc); diag.CodeOf(err) != diag.PathEscape {
			t.Errorf("%s: wrote %s, %v", linked, at, err)
		}
	}
	if s, _ := w.load(); s.Verify(w.tool(key(3), "a/b", w.now)).OK() {
		t.Error("eve became an anchor")
	}
}
