package server

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
)

// TestNamesOfFiles opens a registry whose log has a bundle with a name that is refused: its
// folder has the name of the list of the names.
func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	r := f.mustPublish("acme/tools", "v1.0.0")
	_, err := f.s.change(context.Background(), nil, func(*rules.State, int64) (*log.Entry, *wire.Line, error) {
		e, err := log.ParseEntry([]byte(r.Entry))
		if err == nil {
			e.ID, e.Version = "acme/index.json/v2", "v2.0.0"
		}
		return e, nil, err
	}, nil)
	if f.s.Size() != 3 {
		t.Fatalf("the log has %d entries: %v", f.s.Size(), err)
	}
	f.mustPublish("acme/tools", "v1.1.0")
	f.reopen()
	f.mustPublish("acme/tools", "v1.2.0")
}

// TestUnwritableIndex shows that a bundle whose index cannot be written gets no log entry,
// and that one in the log does not keep the registry from serving the others.
func TestUnwritableIndex(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	f.mustPublish("acme/tools", "v1.0.0")
	dir := filepath.Join(f.dir, "public", "index", "acme")
	if err := os.MkdirAll(filepath.Join(dir, "other.jsonl"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := f.publish("acme/other", "v1.0.0", "x", 1); diag.CodeOf(err) != diag.RegistryError {
		t.Errorf("an index that cannot be written: %v", err)
	}
	if f.s.Size() != 2 {
		t.Errorf("the log has %d entries", f.s.Size())
	}
	f.mustPublish("acme/third", "v1.0.0") // the registry accepts other changes
	f.close()
	if err := os.Remove(filepath.Join(dir, "tools.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "tools.jsonl"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.open()
	f.mustPublish("acme/third", "v1.1.0")
	if status, _, _ := f.get("/index/acme/third.jsonl"); status != 200 {
		t.Errorf("the index of another bundle: %d", status)
	}
}

// TestSignersContinue publishes versions that other keys signed.
func TestSignersContinue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	f.grant("acme", 2)
	var signers []string
	f.judge = func(ctx context.Context, s rules.Submission) (*rules.Content, []diag.Finding, error) {
		c, found, err := acceptAll(ctx, s)
		c.Signers = signers
		return c, found, err
	}
	for _, x := range []struct {
		version string
		signers []string
		ok      bool
	}{
		{"v1.0.0", []string{keyText(1)}, true}, {"v1.1.0", []string{keyText(2)}, false}, {"v1.1.0", []string{keyText(1), keyText(2)}, true}, {"v1.2.0", []string{keyText(2)}, true}, {"v1.3.0", []string{keyText(1)}, false},
	} {
		signers = x.signers
		_, err := f.publish("acme/tools", x.version, x.version, 2)
		if x.ok && err != nil || !x.ok && (err == nil || !strings.Contains(err.Error(), "none of them signed it")) {
			t.Errorf("%s by %v: %v", x.version, x.signers, err)
		}
	}
	f.check()
}
