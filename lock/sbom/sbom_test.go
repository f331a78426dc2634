package sbom_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/lock/sbom"
)

const commit = "5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c"

func ref(id string) item.Ref { return item.Ref{Kind: "tool", ID: id} }

func link(id string) lock.Link { return lock.Link{Ref: ref(id), Digest: item.DigestOf([]byte(id))} }

func h1(of string) string {
	sum := sha256.Sum256([]byte(of))
	return "h1:" + base64.StdEncoding.EncodeToString(sum[:])
}

func example() *lock.Lock {
	signer := "ed25519:" + strings.Repeat("4f", 32)
	chain := []lock.Link{link("triage/label"), link("rye/run"), link("rye/subprocess")}
	return &lock.Lock{
		Manifest: h1("manifest"),
		Bundles: []lock.Bundle{
			{ID: idOf("./local"), Version: "local", Require: "local"},
			{
				ID: idOf("git.acme.io/sec/redact//bundles/pii"), Version: "v0.3.0", URL: "https://git.acme.io/sec/redact",
				Ref: "refs/tags/bundles/pii/v0.3.0", Commit: commit, Tree: commit, Sum: h1("b"), Manifest: item.DigestOf([]byte("b")), Signers: []string{signer},
			},
			{
				ID: idOf("git@github.com:acme/tools"), Version: "v1.0.0", Require: "v1.0.0", URL: "git@github.com:acme/tools", Commit: commit, Tree: commit, Sum: h1("c"),
				Manifest: item.DigestOf([]byte("c")), Signers: []string{signer}, Caps: []string{"rye.execute.tool.gh.*"}, Exec: []string{".ai/tools/gh/issue.sh"},
				Needs: []lock.Module{{ID: idOf("git.acme.io/sec/redact//bundles/pii"), Version: "v0.2.1"}},
			},
			{ID: idOf("github.com/acme/tools"), Version: "v1.0.0-rc.1", URL: "https://github.com/acme/tools", Commit: commit, Tree: commit, Sum: h1("d")},
		},
		Members: []lock.Member{{Path: "./bundles/x", Manifest: h1("m"), Needs: []lock.Module{{ID: idOf("github.com/acme/tools"), Version: "v1.0.0"}}}},
		Items: []lock.Item{
			{Ref: ref("triage/label"), Digest: chain[0].Digest, Chain: chain},
			{Ref: ref("triage/other"), Digest: item.DigestOf([]byte("o")), Chain: append([]lock.Link{{Ref: ref("triage/other"), Digest: item.DigestOf([]byte("o"))}}, chain[1:]...)},
		},
	}
}

func build(t *testing.T, l *lock.Lock) *sbom.Document {
	t.Helper()
	d, err := sbom.New(sbom.Params{Lock: l, System: lock.System{ID: "rye-core", Version: "v0.3.0", Sum: h1("sys")}, Project: "agents", Program: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func find(t *testing.T, d *sbom.Document, name string) sbom.Component {
	t.Helper()
	i := slices.IndexFunc(d.Components, func(c sbom.Component) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no component %s", name)
	}
	return d.Components[i]
}

func needs(d *sbom.Document, ref string) []string {
	for _, x := range d.Dependencies {
		if x.Ref == ref {
			return x.DependsOn
		}
	}
	return nil
}

func TestBundle(t *testing.T) {
	d := build(t, example())
	c := find(t, d, "git@github.com:acme/tools")
	if want := "pkg:generic/github.com/acme/tools@v1.0.0?vcs_url=git%2Bssh:%2F%2Fgit%40github.com%2Facme%2Ftools%40" + commit; c.Purl != want || c.Ref != want {
		t.Errorf("purl %s\nwant %s", c.Purl, want)
	}
	if c.Supplier == nil || c.Supplier.Name != "ed25519:"+strings.Repeat("4f", 32) {
		t.Errorf("supplier %v", c.Supplier)
	}
	if want := []sbom.Hash{{"SHA-256", item.DigestOf([]byte("c")).Hex()}}; !slices.Equal(c.Hashes, want) {
		t.Errorf("hashes %v", c.Hashes)
	}
	for _, p := range []sbom.Property{{"rye:sum", h1("c")}, {"rye:capability", "rye.execute.tool.gh.*"}, {"rye:executable", ".ai/tools/gh/issue.sh"}, {"rye:commit", commit}} {
		if !slices.Contains(c.Properties, p) {
			t.Errorf("%v is missing in %v", p, c.Properties)
		}
	}
	if len(c.External) != 1 || c.External[0].URL != "ssh://git@github.com/acme/tools" {
		t.Errorf("external %v", c.External)
	}
	sub := find(t, d, "git.acme.io/sec/redact//bundles/pii")
	if got := needs(d, c.Ref); !slices.Equal(got, []string{sub.Ref}) {
		t.Errorf("it needs %v", got)
	}
	if !strings.HasPrefix(sub.Purl, "pkg:generic/git.acme.io/sec/redact@v0.3.0?") || !strings.HasSuffix(sub.Purl, "#bundles/pii") {
		t.Errorf("purl %s", sub.Purl)
	}
	if c := find(t, d, "github.com/acme/tools"); !strings.HasPrefix(c.Purl, "pkg:github/acme/tools@v1.0.0-rc.1?") || c.Supplier != nil {
		t.Errorf("%+v", c)
	}
	if c := find(t, d, "./local"); c.Purl != "pkg:generic/local@local?bundle=.%2Flocal" || c.Hashes != nil {
		t.Errorf("%+v", c)
	}
}

// Two items share a runtime: it is one component, and each chain can be walked.
func TestItems(t *testing.T) {
	d := build(t, example())
	at := find(t, d, "tool:triage/label").Ref
	for _, id := range []string{"rye/run", "rye/subprocess"} {
		next := needs(d, at)
		if len(next) != 1 || next[0] != find(t, d, "tool:"+id).Ref {
			t.Fatalf("%s needs %v, want %s", at, next, id)
		}
		at = next[0]
	}
	if got := needs(d, "project"); len(got) != 6 { // two bundles, a member, the system, two items
		t.Errorf("the project needs %v", got)
	}
}

// Every ref is there once, whatever is needed is there, and purls are written
// in the characters that they may have.
func TestRefs(t *testing.T) {
	d := build(t, example())
	seen := map[string]bool{"project": true}
	legal := regexp.MustCompile(`^pkg:[a-z]+(/[A-Za-z0-9._~:%-]+)+@[A-Za-z0-9._~:%-]+\?[a-z_]+=[A-Za-z0-9._~:%-]+(#[A-Za-z0-9._~:%/-]+)?$`)
	for _, c := range d.Components {
		if seen[c.Ref] {
			t.Errorf("%s is there twice", c.Ref)
		}
		seen[c.Ref] = true
		if c.Purl != "" && !legal.MatchString(c.Purl) {
			t.Errorf("purl %s", c.Purl)
		}
	}
	for _, x := range d.Dependencies {
		for _, r := range append(x.DependsOn, x.Ref) {
			if !seen[r] {
				t.Errorf("%s is not a component", r)
			}
		}
	}
	if len(d.Dependencies) != len(seen) {
		t.Errorf("%d dependencies of %d components", len(d.Dependencies), len(seen))
	}
}

func TestSameBytes(t *testing.T) {
	a, _ := json.Marshal(build(t, example()))
	l, found := lock.ParseLock(example().Render())
	if l == nil {
		t.Fatal(found)
	}
	b, _ := json.Marshal(build(t, l))
	if string(a) != string(b) {
		t.Errorf("one lock gives two documents\n%s\n%s", a, b)
	}
	if strings.Contains(string(a), "timestamp") || strings.Contains(string(a), "serialNumber") {
		t.Errorf("it has a time or a number that was not requested: %s", a)
	}
}

func TestEpochAndSerial(t *testing.T) {
	d, err := sbom.New(sbom.Params{Lock: &lock.Lock{}, Epoch: "86400", Serial: "x"})
	if err != nil || d.Metadata.Timestamp != "1970-01-02T00:00:00Z" || d.Serial != "urn:uuid:x" || d.Metadata.Component.Name != "project" {
		t.Errorf("%+v, %v", d, err)
	}
	for _, bad := range []string{"x", "-1", "1.5", "99999999999999", " 1"} {
		if _, err := sbom.New(sbom.Params{Lock: &lock.Lock{}, Epoch: bad}); diag.CodeOf(err) != diag.Usage {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func idOf(s string) lock.ID {
	id, err := lock.ParseID(s)
	if err != nil {
		panic(err)
	}
	return id
}
