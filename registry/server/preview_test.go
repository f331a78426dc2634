package server

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
)

// preview judges a publication by what the registry serves, as a client does before it
// sends one.
func (f *fixture) preview(id wire.ID, version, text string, key byte) error {
	f.t.Helper()
	b, sum := archive(f.t, text)
	v := rules.Preview{Host: testHost, ID: id, Version: version, Archive: b, Sum: sum, Key: wire.KeyText(sign.FingerprintOf(testkit.Key(key).Public())), Judge: f.params().Judge, Now: f.now}
	v.Namespace = &wire.Namespace{}
	if status, body, _ := f.get(wire.NamespacePath(id.NS)); status == 200 {
		n, err := wire.ParseNamespace(body, id.NS)
		if err != nil {
			f.t.Fatal(err)
		}
		v.Namespace = n
	}
	if status, body, _ := f.get(wire.IndexPath + id.IndexPath()); status == 200 {
		lines, err := wire.ParseIndex(body, id)
		if err != nil {
			f.t.Fatal(err)
		}
		v.Lines = lines
	}
	return v.Check(context.Background())
}

// messages returns every problem of an error.
func messages(err error) []string {
	if err == nil {
		return nil
	}
	var out []string
	for _, x := range diag.FindingsOf(err) {
		out = append(out, string(x.Code)+" "+x.Message)
	}
	slices.Sort(out)
	return out
}

// The verdict without sending is that of the registry, with the same problems.
func TestPreview(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	f.mustPublish("acme/tools", "v1.0.0")
	refuse := func(ctx context.Context, s rules.Submission) (*rules.Content, []diag.Finding, error) {
		if s.Host != testHost || len(s.Documents) != 1 {
			t.Errorf("it is judged for %s with %d documents", s.Host, len(s.Documents))
		}
		c, _, err := acceptAll(ctx, s)
		c.Signers = []string{wire.KeyText(sign.FingerprintOf(testkit.Key(2).Public()))}
		return c, []diag.Finding{diag.Errorf(diag.HiddenChars, 0, 0, "the text has hidden characters")}, err
	}
	for _, c := range []struct {
		name, id, version string
		key               byte
		judge             rules.Judge
		later             time.Duration
		refused           bool
	}{
		{"a version that exists", "acme/tools", "v1.0.0", 1, nil, 0, true},
		{"another key", "acme/tools", "v1.1.0", 2, nil, 0, true},
		{"another namespace", "other/tools", "v1.0.0", 1, nil, 0, true},
		{"items and signers", "acme/tools", "v1.1.0", 1, refuse, 0, true},
		{"the next version", "acme/tools", "v1.1.0", 1, nil, 0, false},
		{"a new bundle", "acme/other", "v1.0.0", 1, nil, 0, false},
		{"a binding that ended", "acme/tools", "v1.2.0", 1, nil, 366 * 24 * time.Hour, true},
	} {
		f.judge, f.now = c.judge, f.now.Add(c.later)
		id, err := wire.ParseID(c.id)
		if err != nil {
			t.Fatal(err)
		}
		before := f.preview(id, c.version, c.name, c.key)
		_, sent := f.publish(c.id, c.version, c.name, c.key)
		if got, want := messages(before), messages(sent); (before != nil) != c.refused || (len(got) > 0) != c.refused || (sent != nil) != c.refused || diag.CodeOf(before) != diag.CodeOf(sent) || c.name != "another key" && !slices.Equal(got, want) {
			t.Errorf("%s: %v\nthe registry: %v", c.name, got, want)
		}
	}
}
