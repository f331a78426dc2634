package primary_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	ryesign "github.com/ryeos/rye/sign"
)

// recorder keeps the entries, and the number of files signed at that time.
type recorder struct {
	h     *testkit.Workspace
	calls [][]auditlog.Entry
	seen  []int // signed files on the disk at each call
	fail  error
	then  func() // between the record and the writing
}

func (r *recorder) record(_ context.Context, made []auditlog.Entry) error {
	r.calls = append(r.calls, made)
	r.seen = append(r.seen, signedFiles(r.h))
	if r.then != nil {
		r.then()
	}
	return r.fail
}

func (r *recorder) sign(ctx context.Context, clock func() time.Time, targets ...string) ([]primary.SignReport, error) {
	res := resolve.New(resolve.Params{Spaces: r.h.Spaces(), Trust: r.h.Store(), Lenient: true})
	verbs := primary.New(primary.Params{Resolver: res, Record: r.record, Now: clock})
	return verbs.Sign(ctx, primary.SignCall{Held: policy.Person(), Targets: targets, Dir: r.h.Project, Signer: r.h.Key})
}

func signedFiles(h *testkit.Workspace) int {
	n := 0
	_ = filepath.WalkDir(filepath.Join(h.Project, ".ai"), func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, _ := os.ReadFile(p)
			if strings.Contains(string(b), "rye:signed:") {
				n++
			}
		}
		return nil
	})
	return n
}

func notes(h *testkit.Workspace, n int) {
	for i := range n {
		h.Write(h.Project, fmt.Sprintf("knowledge/n%04d.md", i), fmt.Sprintf("---\nname: n%04d\ntitle: N\nversion: 1.0.0\n---\nText.\n", i))
	}
}

// The log has the digest of the signed file, inline and detached.
func TestRecordedDigest(t *testing.T) {
	h := testkit.New(t)
	inline := h.Write(h.Project, "tools/a/one.yaml", body)
	detached := h.Write(h.Project, "tools/a/two.json", `{"version":"1.0.0","tool_type":"script","executor_id":"rye/core/primitives/subprocess","description":"A test.","config":{"command":"prog"}}`)
	r := &recorder{h: h}
	if reports, err := r.sign(t.Context(), h.Clock, "*"); err != nil || len(reports) != 2 || reports[1].Status != primary.Signed {
		t.Fatalf("%s, %v", outcome(reports), err)
	}
	if len(r.calls) != 1 || len(r.calls[0]) != 2 || r.seen[0] != 0 {
		t.Fatalf("recorded %v with %v files signed", r.calls, r.seen)
	}
	for i, file := range []string{inline, detached} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := auditlog.Entry{Use: "sign", Kind: "tool", ID: []string{"a/one", "a/two"}[i], Space: "project",
			Digest: item.DigestOf(b).String(), Key: ryesign.FingerprintOf(h.Key.Public()).String()}
		if got := r.calls[0][i]; got != want {
			t.Errorf("recorded %+v, want %+v", got, want)
		}
	}
	if _, err := r.sign(t.Context(), h.Clock, "*"); err != nil || len(r.calls) != 1 {
		t.Errorf("signing again recorded %d times, %v", len(r.calls), err)
	}
}

// Files whose signatures cannot be logged are not written; earlier files are
// reported.
func TestRecordFails(t *testing.T) {
	h := testkit.New(t)
	notes(h, 3)
	h.Put(h.Project, "knowledge/a.md", "---\nname: a\ntitle: N\nversion: 1.0.0\n---\nText.\n")
	full := errors.New("the disk is full")
	r := &recorder{h: h, fail: full}
	reports, err := r.sign(t.Context(), h.Clock, "*")
	if !errors.Is(err, full) || outcome(reports) != "unchanged .ai/knowledge/a.md" {
		t.Errorf("%s, %v", outcome(reports), err)
	}
	if n := signedFiles(h); n != 1 {
		t.Errorf("%d files are signed", n)
	}
}

// Many files make more than one batch; each is recorded before it is written,
// and the reports stay in order.
func TestRecordInBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("signs 700 files")
	}
	h := testkit.New(t)
	notes(h, 700)
	r := &recorder{h: h}
	reports, err := r.sign(t.Context(), h.Clock, "*")
	if err != nil || len(reports) != 700 || signedFiles(h) != 700 {
		t.Fatalf("%d reports, %d signed, %v", len(reports), signedFiles(h), err)
	}
	recorded := 0
	for i, call := range r.calls {
		if r.seen[i] != recorded {
			t.Errorf("batch %d was recorded when %d of %d files were signed", i, r.seen[i], recorded)
		}
		for _, e := range call {
			if want := "knowledge:" + e.ID; reports[recorded].Ref != want || reports[recorded].Status != primary.Signed {
				t.Fatalf("report %d is %+v, want %s", recorded, reports[recorded], want)
			}
			recorded++
		}
	}
	if recorded != 700 || len(r.calls) != 2 {
		t.Errorf("%d recorded in %d batches", recorded, len(r.calls))
	}
}

// A slow signer, such as an agent that asks, keeps nothing back for long.
func TestRecordWhenSlow(t *testing.T) {
	h := testkit.New(t)
	notes(h, 4)
	r, now := &recorder{h: h}, h.Now
	clock := func() time.Time { now = now.Add(400 * time.Millisecond); return now }
	if _, err := r.sign(t.Context(), clock, "*"); err != nil || len(r.calls) < 2 || signedFiles(h) != 4 {
		t.Errorf("%d batches, %d signed, %v", len(r.calls), signedFiles(h), err)
	}
}

// A file that is saved while it is signed keeps the saved text.
func TestChangedMeanwhile(t *testing.T) {
	h := testkit.New(t)
	notes(h, 2)
	file := filepath.Join(h.Project, ".ai/knowledge/n0001.md")
	r := &recorder{h: h}
	const saved = "---\nname: n0001\ntitle: N\nversion: 1.0.0\n---\nBetter.\n"
	r.then = func() { h.Write(h.Project, "knowledge/n0001.md", saved) }
	reports, err := r.sign(t.Context(), h.Clock, "*")
	if err != nil || outcome(reports) != "signed .ai/knowledge/n0000.md; refused .ai/knowledge/n0001.md HASH_MISMATCH" {
		t.Errorf("%s, %v", outcome(reports), err)
	}
	if b, _ := os.ReadFile(file); string(b) != saved {
		t.Errorf("the file holds %q", b)
	}
	// Another signature on the same body is not a change.
	other := testkit.Key(7)
	r.then = func() { h.Write(h.Project, "knowledge/n0001.md", string(h.Signed("knowledge/n0001.md", saved, other))) }
	reports, err = r.sign(t.Context(), h.Clock, "*")
	if err != nil || outcome(reports) != "unchanged .ai/knowledge/n0000.md; signed .ai/knowledge/n0001.md" {
		t.Errorf("%s, %v", outcome(reports), err)
	}
	h.Write(h.Project, "knowledge/n0001.md", saved)
	r.then = func() { _ = os.Remove(file) }
	if reports, err = r.sign(t.Context(), h.Clock, "*"); err != nil || reports[1].Status != primary.Refused {
		t.Errorf("removed: %s, %v", outcome(reports), err)
	}
	if _, err := os.Lstat(file); !os.IsNotExist(err) {
		t.Errorf("a removed file came back: %v", err)
	}
}

// An interrupt between the record and the writing leaves the rest as it is.
func TestInterruptedBatch(t *testing.T) {
	h := testkit.New(t)
	notes(h, 3)
	ctx, cancel := context.WithCancel(t.Context())
	r := &recorder{h: h, then: cancel}
	reports, err := r.sign(ctx, h.Clock, "*")
	if diag.CodeOf(err) != diag.Cancelled || len(reports) != 0 || signedFiles(h) != 0 {
		t.Errorf("%s, %v, %d signed", outcome(reports), err, signedFiles(h))
	}
}
