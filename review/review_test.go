package review_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"github.com/ryeos/rye/lock/treehash"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/review"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

const source = "github.com/acme/skills"

var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

type memSigner struct{ ed25519.PrivateKey }

func (m memSigner) Public() ed25519.PublicKey { return m.PrivateKey.Public().(ed25519.PublicKey) }
func (m memSigner) String() string            { return "a key in memory" }
func (m memSigner) Sign(_ context.Context, msg []byte) ([]byte, error) {
	return ed25519.Sign(m.PrivateKey, msg), nil
}

func key(n byte) memSigner {
	return memSigner{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))}
}

func fp(k memSigner) sign.Fingerprint { return sign.FingerprintOf(k.Public()) }

var all = doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign"}}

// store trusts one key as the user's own: kind and scope of its document are those given.
func store(t testing.TB, keys map[byte]doc.KeyParams) *trust.Store {
	t.Helper()
	var files []trust.File
	for n, p := range keys {
		p.Now = now
		if p.Owner == "" {
			p.Owner = fmt.Sprintf("person%d", n)
		}
		name, b, err := doc.NewKey(t.Context(), p, key(n))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, trust.File{Name: name, Data: b})
	}
	s, _ := trust.Load(trust.Params{System: files, Now: func() time.Time { return now }})
	return s
}

func component(t testing.TB, id, from string, files ...string) review.Component {
	t.Helper()
	var list []treehash.File
	for i, name := range files {
		list = append(list, treehash.File{Path: name, Mode: treehash.Regular, Digest: item.DigestOf([]byte(fmt.Sprint(id, i)))})
	}
	kind, name, _ := strings.Cut(id, ":")
	c, err := review.NewComponent(kind, name, from, list)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func accept(t testing.TB, by memSigner, id string, list ...review.Component) review.File {
	t.Helper()
	r := review.Review{Source: id, URL: "https://" + id, Commit: strings.Repeat("9d", 20), Shown: review.ShownFiles, Accepts: review.Accept(list)}
	b, err := r.Sign(t.Context(), by, now)
	if err != nil {
		t.Fatal(err)
	}
	return review.File{Path: ".ai/adopted/" + id + "/" + review.FileName(fp(by)), Bytes: b}
}

func TestRoundTrip(t *testing.T) {
	pdf := component(t, "skill:pdf", "skills/pdf", "scripts/fill.py", "SKILL.md")
	root := component(t, "skill:all", ".", "SKILL.md")
	f := accept(t, key(1), source, pdf, root)
	r, fs := review.Parse(f.Bytes)
	if r == nil || len(fs) > 0 {
		t.Fatalf("%v\n%s", fs, f.Bytes)
	}
	if got := r.Find("skill:pdf"); got == nil || got.Sum != pdf.Sum || got.From != "skills/pdf" || len(r.Accepts) != 2 {
		t.Errorf("%+v", r)
	}
	text, err := review.RenderFiles([]review.Component{pdf, root})
	if err != nil {
		t.Fatal(err)
	}
	list, fs := review.ParseFiles(text)
	if len(fs) > 0 || len(list) != 2 || list[1].Sum != pdf.Sum || list[1].Files[1].Path != "scripts/fill.py" || list[0].From != "." {
		t.Errorf("%v %v\n%s", list, fs, text)
	}
	if got, ok := review.ParseFileName(review.FileName(fp(key(1)))); !ok || got != fp(key(1)) {
		t.Error("the name of a review does not name its key")
	}
}

// TestOneText: whatever a review could also be written as is refused.
func TestOneText(t *testing.T) {
	f := accept(t, key(1), source, component(t, "skill:pdf", "skills/pdf", "SKILL.md"))
	for name, text := range map[string]string{
		"a comment":        string(f.Bytes) + "# note\n",
		"a second field":   strings.Replace(string(f.Bytes), "  shown: files\n", "  shown: files\n  safe: true\n", 1),
		"another order":    strings.Replace(string(f.Bytes), "  shown: files\n", "", 1) + "  shown: files\n",
		"an unknown kind":  strings.Replace(string(f.Bytes), "skill:pdf", "tool:pdf", 1),
		"a parent":         strings.Replace(string(f.Bytes), "skills/pdf", "../pdf", 1),
		"a short commit":   strings.Replace(string(f.Bytes), strings.Repeat("9d", 20), "9d9d9d", 1),
		"another spelling": strings.Replace(string(f.Bytes), source, "GitHub.com/acme/skills", 1),
		"hidden":           strings.Replace(string(f.Bytes), "https://", "https://\u202e", 1),
		"no components":    strings.SplitAfter(string(f.Bytes), "components:\n")[0],
	} {
		if r, fs := review.Parse([]byte(text)); r != nil || !diag.Failed(fs) {
			t.Errorf("%s is accepted:\n%s", name, text)
		}
	}
}

func TestFilesRefused(t *testing.T) {
	a := component(t, "skill:a", "a", "SKILL.md")
	b := component(t, "skill:b", "b", "SKILL.md", "x.sh")
	text, err := review.RenderFiles([]review.Component{a, b})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	swapped := slices.Concat(lines[3:], lines[:3])
	for name, in := range map[string]string{
		"another order":   strings.Join(swapped, ""),
		"a repeated file": strings.Replace(string(text), lines[2], lines[2]+lines[2], 1),
		"no line end":     strings.TrimSuffix(string(text), "\n"),
		"a blank line":    string(text) + "\n",
		"a link":          strings.Replace(string(text), "100644", "120000", 1),
		"a parent":        strings.Replace(string(text), " SKILL.md", " ../SKILL.md", 1),
		"an absolute dir": strings.Replace(string(text), "skill:a a", "skill:a /a", 1),
		"repeated":        string(text) + strings.Join(lines[3:], ""),
	} {
		if list, fs := review.ParseFiles([]byte(in)); list != nil || !diag.Failed(fs) {
			t.Errorf("%s is accepted:\n%s", name, in)
		}
	}
}

func TestJudge(t *testing.T) {
	pdf := component(t, "skill:pdf", "skills/pdf", "SKILL.md")
	doc1 := component(t, "skill:docx", "skills/docx", "SKILL.md")
	changed := component(t, "skill:pdf", "skills/pdf", "SKILL.md", "new.sh")
	moved := component(t, "skill:pdf", "other/pdf", "SKILL.md")
	people := map[byte]doc.KeyParams{
		1: {Scope: all, Owner: "ada"},
		2: {Scope: all, Owner: "bea"},
		3: {Scope: all, KeyKind: doc.KeyAgent},
		4: {Scope: doc.Scope{Kinds: []string{"skill"}, Namespaces: []string{"docx"}, May: []string{"sign"}}},
		5: {Scope: doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"release"}}},
	}
	ada := accept(t, key(1), source, pdf)
	bea := accept(t, key(2), source, pdf)
	flipped := review.File{Path: ada.Path, Bytes: bytes.Replace(ada.Bytes, []byte("shown: files"), []byte("shown: summary"), 1)}
	renamed := review.File{Path: bea.Path, Bytes: ada.Bytes}
	placed := accept(t, key(1), "github.com/acme/other", pdf)
	placed.Path = ada.Path
	two := []review.Rule{{Reviews: 2}}
	for name, c := range map[string]struct {
		files []review.File
		rules []review.Rule
		have  review.Component
		want  diag.Code
	}{
		"one review":                   {[]review.File{ada}, nil, pdf, ""},
		"two":                          {[]review.File{ada, bea}, two, pdf, ""},
		"none":                         {nil, nil, pdf, diag.Threshold},
		"one of two":                   {[]review.File{ada}, two, pdf, diag.Threshold},
		"one key twice":                {[]review.File{ada, ada}, two, pdf, diag.Threshold},
		"not among the reviewers":      {[]review.File{ada}, []review.Rule{{Reviewers: []sign.Fingerprint{fp(key(2))}}}, pdf, diag.Threshold},
		"each rule applies":            {[]review.File{ada, bea}, []review.Rule{{Reviewers: []sign.Fingerprint{fp(key(1))}}, {Reviewers: []sign.Fingerprint{fp(key(4))}}}, pdf, diag.Threshold},
		"another component":            {[]review.File{ada}, nil, doc1, diag.Threshold},
		"other files":                  {[]review.File{ada}, nil, changed, diag.HashMismatch},
		"another directory":            {[]review.File{ada}, nil, moved, diag.HashMismatch},
		"edited":                       {[]review.File{flipped}, nil, pdf, diag.HashMismatch},
		"under another key's name":     {[]review.File{renamed}, nil, pdf, diag.SigInvalid},
		"of another source":            {[]review.File{placed}, nil, pdf, diag.SigInvalid},
		"unknown key":                  {[]review.File{accept(t, key(9), source, pdf)}, nil, pdf, diag.KeyUnknown},
		"unknown and trusted":          {[]review.File{accept(t, key(9), source, pdf), ada}, nil, pdf, ""},
		"agent":                        {[]review.File{accept(t, key(3), source, pdf)}, nil, pdf, diag.Scope},
		"scope of another name":        {[]review.File{accept(t, key(4), source, pdf)}, nil, pdf, diag.Scope},
		"scope of this name":           {[]review.File{accept(t, key(4), source, doc1)}, nil, doc1, ""},
		"may release only":             {[]review.File{accept(t, key(5), source, pdf)}, nil, pdf, diag.Scope},
		"no signature":                 {[]review.File{{Path: ada.Path, Bytes: ada.Bytes[bytes.IndexByte(ada.Bytes, '\n')+1:]}}, nil, pdf, diag.Unsigned},
		"a wrong file does not remove": {[]review.File{{Path: "x/readme.yaml", Bytes: []byte("x")}, ada}, nil, pdf, ""},
	} {
		got := review.Judge(review.Params{Trust: store(t, people), Source: source, Components: []review.Component{c.have}, Reviews: c.files, Rules: c.rules})[0].Verdict
		if got.Code != c.want || got.OK() != (c.want == "") {
			t.Errorf("%s: %q %v, want %q", name, got.Code, got.Reasons, c.want)
		}
	}
	got := review.Judge(review.Params{Trust: store(t, people), Source: source, Components: []review.Component{pdf}, Reviews: []review.File{ada, bea}})[0]
	if got.Verdict.Status != trust.Adopted || got.Verdict.Reasons[0] != "adopted: reviewed by ada, bea; not signed by its publisher" {
		t.Errorf("%+v", got.Verdict)
	}
}

// TestOtherUses: no signature for another use is a review, and no review is one of these.
func TestOtherUses(t *testing.T) {
	pdf := component(t, "skill:pdf", "skills/pdf", "SKILL.md")
	s := store(t, map[byte]doc.KeyParams{1: {Scope: doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign", "release"}}}})
	f := accept(t, key(1), source, pdf)
	sp, err := sign.SplitFile(f.Bytes, sign.Hash())
	if err != nil {
		t.Fatal(err)
	}
	for _, use := range []sign.Use{sign.UseManifest, sign.UseItem, sign.UseTrust, sign.UsePublish} {
		sub := sign.Subject{Use: use, Kind: "bundle", ID: source}
		if v := s.Verify(trust.Input{Bytes: f.Bytes, Style: sign.Hash(), Subject: sub, Use: "release"}); v.Code != diag.SigInvalid {
			t.Errorf("a review as %s: %q", use, v.Code)
		}
		other, _, err := sign.Sign(t.Context(), sp.Body(), sign.Hash(), sub, key(1), now)
		if err != nil {
			t.Fatal(err)
		}
		got := review.Judge(review.Params{Trust: s, Source: source, Components: []review.Component{pdf}, Reviews: []review.File{{Path: f.Path, Bytes: other}}})
		if got[0].Verdict.Code != diag.SigInvalid {
			t.Errorf("%s as a review: %q", use, got[0].Verdict.Code)
		}
	}
}

// TestWithdrawn: the signer of a review withdraws it, and no other reviewer can.
func TestWithdrawn(t *testing.T) {
	pdf := component(t, "skill:pdf", "skills/pdf", "SKILL.md")
	f := accept(t, key(1), source, pdf)
	sp, err := sign.SplitFile(f.Bytes, sign.Hash())
	if err != nil {
		t.Fatal(err)
	}
	for by, want := range map[byte]diag.Code{1: diag.Revoked, 2: ""} {
		name, b, err := doc.NewReleaseRevocation(t.Context(), doc.Release{
			Bundle: source, Version: "0.0.0-20260701000000-9d9d9d9d9d9d", Manifest: item.DigestOf(f.Bytes), Content: sp.Digest(), Why: "it leaks"}, key(by), now)
		if err != nil {
			t.Fatal(err)
		}
		var files []trust.File
		for _, n := range []byte{1, 2} {
			kn, kb, err := doc.NewKey(t.Context(), doc.KeyParams{Owner: "x", Scope: all, Now: now}, key(n))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, trust.File{Name: kn, Data: kb})
		}
		s, _ := trust.Load(trust.Params{System: append(files, trust.File{Name: name, Data: b}), Now: func() time.Time { return now }})
		got := review.Judge(review.Params{Trust: s, Source: source, Components: []review.Component{pdf}, Reviews: []review.File{f}})
		if got[0].Verdict.Code != want {
			t.Errorf("withdrawn by %d: %q %v", by, got[0].Verdict.Code, got[0].Verdict.Reasons)
		}
	}
}

// TestRemovingRemoves: no review, key or file whose removal makes a component usable.
func TestRemovingRemoves(t *testing.T) {
	pdf := component(t, "skill:pdf", "skills/pdf", "SKILL.md", "a.py", "b.py")
	reviews := []review.File{accept(t, key(1), source, pdf), accept(t, key(2), source, pdf), accept(t, key(3), source, pdf)}
	cases := 0
	for need := range 4 {
		for keys := range 8 {
			for have := range 8 {
				people := map[byte]doc.KeyParams{}
				var files []review.File
				for i := range 3 {
					if keys>>i&1 == 1 {
						people[byte(i+1)] = doc.KeyParams{Scope: all}
					}
					if have>>i&1 == 1 {
						files = append(files, reviews[i])
					}
				}
				got := review.Judge(review.Params{Trust: store(t, people), Source: source, Components: []review.Component{pdf}, Reviews: files, Rules: []review.Rule{{Reviews: need}}})[0].Verdict.OK()
				n := 0
				for i := range 3 {
					n += (keys >> i) & (have >> i) & 1
				}
				if cases++; got != (n >= max(need, 1)) {
					t.Errorf("need %d, keys %03b, reviews %03b: %v", need, keys, have, got)
				}
			}
		}
	}
	for i := range pdf.Files {
		less, err := review.NewComponent("skill", "pdf", "skills/pdf", slices.Delete(slices.Clone(pdf.Files), i, i+1))
		if err != nil {
			t.Fatal(err)
		}
		got := review.Judge(review.Params{Trust: store(t, map[byte]doc.KeyParams{1: {Scope: all}}), Source: source, Components: []review.Component{less}, Reviews: reviews[:1]})[0].Verdict
		if got.Code != diag.HashMismatch {
			t.Errorf("without %s: %q", pdf.Files[i].Path, got.Code)
		}
	}
	if cases != 256 {
		t.Errorf("%d cases", cases)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(accept(f, key(1), source, component(f, "skill:pdf", "skills/pdf", "SKILL.md")).Bytes)
	f.Add([]byte("review: {}\ncomponents: {}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, fs := review.Parse(b)
		if (r == nil) != diag.Failed(fs) {
			t.Fatalf("%v with %v", r, fs)
		}
		if r == nil {
			return
		}
		sp, err := sign.SplitFile(b, sign.Hash())
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.Render()
		if err != nil || !bytes.Equal(again, sp.Body()) {
			t.Fatalf("%v: %q and %q", err, again, sp.Body())
		}
	})
}

func FuzzParseFiles(f *testing.F) {
	text, _ := review.RenderFiles([]review.Component{component(f, "skill:a", "a", "SKILL.md"), component(f, "agent:b", "agents", "b.md")})
	f.Add(text)
	f.Add([]byte("component skill:a a\nrye-tree 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, fs := review.ParseFiles(b)
		if diag.Failed(fs) {
			return
		}
		again, err := review.RenderFiles(list)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%v: %q and %q", err, again, b)
		}
	})
}
