package wire

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// siteOf serves files from a map and counts the reads of each.
func siteOf(files map[string][]byte) (log.Source, map[string]int) {
	reads := map[string]int{}
	return func(_ context.Context, p string, limit int64) ([]byte, error) {
		reads[p]++
		b, ok := files[p]
		if !ok || int64(len(b)) > limit {
			return nil, fmt.Errorf("reading %s: %w", p, fs.ErrNotExist)
		}
		return b, nil
	}, reads
}

// TestStatements verifies a pass over a log: each statement is read and used once, and its
// key is the one in the document of the namespace.
func TestStatements(t *testing.T) {
	ctx := context.Background()
	signer := testSigner(1)
	fp := sign.FingerprintOf(signer.Public())
	entry := func(reason string) (*log.Entry, []byte) {
		s := Statement{Registry: "rye.acme.io", Action: ActionYank, ID: "acme.io/tools", Version: "v1.0.0", Reason: reason}
		signed := signedBy(t, s, signer)
		e := signed.Entry()
		e.Statement, e.Reason, e.Time = signed.Digest, reason, testTime
		return e, signed.Raw()
	}
	first, firstRaw := entry("broken")
	second, secondRaw := entry("leaks")
	keys := Namespace{V: 1, Namespace: "acme.io", Keys: []BoundKey{{Key: KeyText(fp), Document: "the document"}}}
	files := map[string][]byte{
		StatementPath(first.Statement): firstRaw, StatementPath(second.Statement): secondRaw, NamespacePath("acme.io"): keys.Render(),
	}
	read, reads := siteOf(files)
	parse := func(b []byte) (sign.Fingerprint, ed25519.PublicKey, error) {
		if string(b) != "the document" {
			return sign.Fingerprint{}, nil, fs.ErrInvalid
		}
		return fp, signer.Public(), nil
	}
	s := NewStatements(read, "rye.acme.io", parse)
	for _, e := range []*log.Entry{first, {Type: log.State, ID: "acme.io/tools"}, second} {
		if err := s.Check(ctx, e); err != nil {
			t.Errorf("%s: %v", e.Reason, err)
		}
	}
	if err := s.Check(ctx, first); diag.CodeOf(err) != diag.LogProof {
		t.Errorf("used twice: %v", err)
	}
	for p, n := range reads {
		if n != 1 {
			t.Errorf("%s was read %d times", p, n)
		}
	}

	other := func([]byte) (sign.Fingerprint, ed25519.PublicKey, error) {
		return sign.FingerprintOf(testSigner(2).Public()), signer.Public(), nil
	}
	refused := func([]byte) (sign.Fingerprint, ed25519.PublicKey, error) {
		return fp, signer.Public(), fs.ErrInvalid
	}
	for name, p := range map[string]func([]byte) (sign.Fingerprint, ed25519.PublicKey, error){"another key": other, "a refused document": refused} {
		if err := NewStatements(read, "rye.acme.io", p).Check(ctx, first); diag.CodeOf(err) != diag.KeyUnknown {
			t.Errorf("%s: %v", name, err)
		}
	}
	delete(files, StatementPath(second.Statement))
	if err := NewStatements(read, "rye.acme.io", parse).Check(ctx, second); err == nil {
		t.Error("a statement that is missing was accepted")
	}
}

// TestCheckRevocations verifies the list of revocations and their texts against a log.
func TestCheckRevocations(t *testing.T) {
	text := []byte("a revocation")
	digest := digestOf(text)
	listed := (&Revocations{V: 1, Documents: []Revocation{{Digest: digest, URL: RevocationPath(digest), Name: "r.toml", Log: 3}}}).Render()
	none := (&Revocations{V: 1, Documents: []Revocation{}}).Render()
	for name, c := range map[string]struct {
		files   map[string][]byte
		entries map[int64]string
		want    []string
	}{
		"equal":         {map[string][]byte{RevocationsPath: listed, RevocationPath(digest): text}, map[int64]string{3: digest}, nil},
		"no list":       {nil, nil, nil},
		"list missing":  {map[string][]byte{RevocationPath(digest): text}, map[int64]string{3: digest}, []string{RevocationsPath + " REGISTRY_ERROR"}},
		"list refused":  {map[string][]byte{RevocationsPath: []byte("{")}, nil, []string{RevocationsPath + " REGISTRY_ERROR"}},
		"not listed":    {map[string][]byte{RevocationsPath: none, RevocationPath(digest): text}, map[int64]string{3: digest}, []string{RevocationsPath + " LOG_PROOF"}},
		"not in log":    {map[string][]byte{RevocationsPath: listed}, nil, []string{RevocationsPath + " LOG_PROOF"}},
		"other text":    {map[string][]byte{RevocationsPath: listed, RevocationPath(digest): []byte("x")}, map[int64]string{3: digest}, []string{RevocationPath(digest) + " HASH_MISMATCH"}},
		"text missing":  {map[string][]byte{RevocationsPath: listed}, map[int64]string{3: digest}, []string{RevocationPath(digest) + " HASH_MISMATCH"}},
		"text too long": {map[string][]byte{RevocationsPath: listed, RevocationPath(digest): make([]byte, MaxRevocation+1)}, map[int64]string{3: digest}, []string{RevocationPath(digest) + " HASH_MISMATCH"}},
	} {
		read, _ := siteOf(c.files)
		var got []string
		err := CheckRevocations(context.Background(), read, c.entries, func(path string, code diag.Code, _ string) { got = append(got, path+" "+string(code)) })
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %q, want %q", name, err, got, c.want)
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	read, _ := siteOf(nil)
	if err := CheckRevocations(ended, read, nil, func(string, diag.Code, string) { t.Error("a finding after the end") }); err == nil {
		t.Error("no error for a context that ended")
	}
}

// TestMaxRevocation: a revocation is a trust document.
func TestMaxRevocation(t *testing.T) {
	if MaxRevocation != doc.MaxDocument {
		t.Errorf("%d, and a trust document has at most %d bytes", MaxRevocation, doc.MaxDocument)
	}
}
