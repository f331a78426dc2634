package release

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

func TestNextVersion(t *testing.T) {
	for version, want := range map[string]string{"1.2.3": "1.2.4", "1.2.3-rc.1": "1.2.3", "1.2.9": "1.2.10", "1.2.99999999999999999999": "VERSION"} {
		if got := nextVersion(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

func TestCheckContent(t *testing.T) {
	p := Params{ID: "acme"}
	commit := strings.Repeat("a", 40)
	good := func(change func(*Content)) *Content {
		c := &Content{Digest: item.DigestOf([]byte("m")), ProjectFile: []byte("rye: 1\n"), Demands: []Demand{{Threshold: 2, Of: 3, Have: 2}}}
		change(c)
		return c
	}
	for name, tc := range map[string]struct {
		change func(*Content)
		code   diag.Code
		reason string
	}{
		"good":            {func(*Content) {}, "", ""},
		"a warning":       {func(c *Content) { c.Findings = []diag.Finding{diag.Warnf(diag.HiddenChars, 0, 0, "x")} }, "", ""},
		"not committed":   {func(c *Content) { c.Digest = item.Digest{} }, diag.BundleFileMissing, "manifest_not_committed"},
		"unsigned file":   {func(c *Content) { c.Findings = []diag.Finding{diag.Warnf(diag.BundleFileExtra, 0, 0, "x")} }, diag.BundleFileExtra, ""},
		"no project file": {func(c *Content) { c.ProjectFile = nil }, diag.BundleFileMissing, "no_project_file"},
		"bad file":        {func(c *Content) { c.ProjectFile = []byte("x") }, diag.ParsingError, ""},
		"directory":       {func(c *Content) { c.ProjectFile = []byte("rye: 1\nrequire: {./x: local}\n") }, diag.Unresolvable, ""},
		"signers":         {func(c *Content) { c.Demands[0].Have = 1 }, diag.Threshold, "publish"},
	} {
		err := p.checkContent(commit, good(tc.change))
		reason := ""
		if e, ok := err.(*diag.Error); ok {
			reason = e.Reason
		}
		if diag.CodeOf(err) != tc.code || reason != tc.reason {
			t.Errorf("%s: %v (%s), want %s (%s)", name, err, reason, tc.code, tc.reason)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	for version, code := range map[string]diag.Code{"": "", "1.0.0": "", "v1.0.0": "", "1.1.0": diag.VersionMismatch, "one": diag.Usage} {
		if err := (Params{ID: "acme", Version: version}).checkVersion("1.0.0"); diag.CodeOf(err) != code {
			t.Errorf("%q: %v, want %s", version, err, code)
		}
	}
}

func TestNextPublisher(t *testing.T) {
	key := func(b byte) ed25519.PublicKey {
		return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(b), 32))).Public().(ed25519.PublicKey)
	}
	two, three := 2, 3
	first := PublisherChange{Bundles: []string{"acme/**"}, Root: RoleChange{Keys: []ed25519.PublicKey{key('a'), key('b')}}, Release: RoleChange{Keys: []ed25519.PublicKey{key('c')}}}
	p, err := NextPublisher("acme", nil, first)
	if err != nil || p.Version != 1 || p.Root.Threshold != 2 || p.Release.Threshold != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	texts := []trust.PublisherText{{Publisher: &doc.Publisher{Name: "acme", Version: 4, Root: p.Root, Release: p.Release}}}
	if p, err := NextPublisher("acme", texts, PublisherChange{}); err != nil || p.Version != 4 {
		t.Errorf("unchanged: %+v, %v", p, err)
	}
	if p, err := NextPublisher("acme", texts, PublisherChange{Release: RoleChange{Keys: first.Root.Keys, Threshold: &two}}); err != nil || p.Version != 5 || p.Release.Threshold != 2 || len(p.Root.Keys) != 2 {
		t.Errorf("changed: %+v, %v", p, err)
	}
	for name, tc := range map[string]struct {
		texts  []trust.PublisherText
		change PublisherChange
		code   diag.Code
	}{
		"unknown":   {nil, PublisherChange{}, diag.ItemNotFound},
		"no root":   {nil, PublisherChange{Bundles: first.Bundles, Release: first.Release}, diag.Usage},
		"threshold": {texts, PublisherChange{Root: RoleChange{Threshold: &three}}, diag.Usage},
	} {
		if _, err := NextPublisher("acme", tc.texts, tc.change); diag.CodeOf(err) != tc.code {
			t.Errorf("%s: %v, want %s", name, err, tc.code)
		}
	}
}
