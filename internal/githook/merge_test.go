package githook

import (
	"bytes"
	"crypto/ed25519"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/sign"
)

// mergeLab merges three texts.
type mergeLab struct {
	t   *testing.T
	git *gitcmd.Git
	dir string
}

func newMergeLab(t *testing.T) *mergeLab {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	git, err := gitcmd.New(gitcmd.Params{Dir: dir, Environ: append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")})
	if err != nil {
		t.Fatal(err)
	}
	return &mergeLab{t, git, dir}
}

func (l *mergeLab) merge(path string, texts [3]string) (out string, signed, conflict bool, err error) {
	l.t.Helper()
	var names [3]string
	for i, text := range texts {
		names[i] = filepath.Join(l.dir, string(rune('a'+i)))
		if err := os.WriteFile(names[i], []byte(text), 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
	signed, conflict, err = Merge(l.t.Context(), MergeParams{Git: l.git, Base: names[0], Ours: names[1], Theirs: names[2], MarkerSize: "7", Path: path})
	b, readErr := os.ReadFile(names[1])
	if readErr != nil {
		l.t.Fatal(readErr)
	}
	return string(b), signed, conflict, err
}

// signedText is text with a signature line.
func signedText(t *testing.T, text string, seed byte) string {
	t.Helper()
	key := sign.NewFileSigner(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize)), "test")
	out, _, err := sign.Sign(t.Context(), []byte(text), sign.Hash(), sign.Subject{Kind: "tool", ID: "a", Use: sign.UseItem}, key, time.Unix(1800000000, 0))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

const five = "#!/bin/sh\n1\n2\n3\n4\n5\n"

func TestMerge(t *testing.T) {
	l := newMergeLab(t)
	s := func(text string) string { return signedText(t, text, 1) }
	top, end := strings.Replace(five, "1\n", "one\n", 1), strings.Replace(five, "5\n", "five\n", 1)
	again := signedText(t, five, 2)
	for _, c := range []struct {
		name, path       string
		base, ours, them string
		want             string
		signed, conflict bool
	}{
		{"two changes", "a.sh", s(five), s(top), s(end), strings.Replace(top, "5\n", "five\n", 1), false, false},
		{"ours only signed again", "a.sh", s(five), again, s(end), s(end), true, false},
		{"theirs only signed again", "a.sh", s(five), s(end), again, s(end), true, false},
		{"both signed again", "a.sh", s(five), again, signedText(t, five, 3), again, true, false},
		{"the same change", "a.sh", s(five), s(top), signedText(t, top, 2), s(top), true, false},
		{"ours lost its signature", "a.sh", s(five), five, s(end), s(end), true, false},
		{"never signed", "a.sh", five, top, end, strings.Replace(top, "5\n", "five\n", 1), false, false},
		{"one line", "a.sh", s(five), s(top), s(strings.Replace(five, "1\n", "uno\n", 1)),
			"#!/bin/sh\n<<<<<<< ours\none\n=======\nuno\n>>>>>>> theirs\n2\n3\n4\n5\n", false, true},
		{"detached", "a.json.rye-sig", "a\n", "b\n", "c\n", "b\n", false, false},
	} {
		out, signed, conflict, err := l.merge(c.path, [3]string{c.base, c.ours, c.them})
		if err != nil || out != c.want || signed != c.signed || conflict != c.conflict {
			t.Errorf("%s: signed %t, conflict %t, %v\n%s\nwant\n%s", c.name, signed, conflict, err, out, c.want)
		}
	}
	if out, _, _, err := l.merge("a.bin", [3]string{"\x00a", "\x00b", "\x00c"}); err == nil || out != "\x00b" {
		t.Errorf("binary files: %q, %v", out, err)
	}
}

// A merged text never has a signature line: it would be one of another text. A
// signature in the result belongs to the whole file of one side.
func TestMergeNeverMixesSignatures(t *testing.T) {
	l := newMergeLab(t)
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		var texts [3]string
		for i := range texts {
			lines := strings.SplitAfter(five, "\n")
			for range rand.N(3) {
				at := 1 + rand.N(len(lines)-1)
				lines[at] = string(rune('x'+rand.N(3))) + "\n"
			}
			texts[i] = strings.Join(lines, "")
			if rand.N(4) > 0 {
				texts[i] = signedText(t, texts[i], byte(1+rand.N(3)))
			}
		}
		out, signed, _, err := l.merge("a.sh", texts)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out, "rye:signed:") && out != texts[1] && out != texts[2] {
			t.Errorf("%q of %q has a signature of another text", out, texts)
		}
		if signed && out != texts[1] && out != texts[2] {
			t.Errorf("%q of %q is not a whole side", out, texts)
		}
	}
}
