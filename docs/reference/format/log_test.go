package format_test

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// logFiles are the files of the log, below examples/state.
var logFiles = []string{auditlog.File, auditlog.HeadFile}

// signatureLog records three of the examples as the program would.
func signatureLog(t testing.TB, files map[string][]byte) map[string][]byte {
	t.Helper()
	fp := sign.FingerprintOf(testKey.Public())
	key := doc.FileName(doc.KindKey, fp)
	made := []auditlog.Entry{
		{Surface: "cli", Use: "trust", Kind: doc.KindKey, ID: strings.TrimSuffix(key, ".toml"), Space: "user", Digest: digest(t, files, "trust/"+key)},
		{Surface: "hook", Use: "sign", Kind: "tool", ID: "demo/greet", Space: "project", Project: "/home/ada/hello", Digest: digest(t, files, project+"/tools/demo/greet.py")},
		{Surface: "cli", Use: "release", Kind: bundle.Subject(bundleID).Kind, ID: bundleID, Space: "project", Project: "/home/ada/hello",
			Digest: digest(t, files, path.Join("project", bundle.ManifestPath(bundleID)))},
	}
	for i := range made {
		made[i].Key = fp.String()
	}
	dir := t.TempDir()
	if err := openLog(dir).Append(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, name := range logFiles {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out["state/"+name] = b
	}
	return out
}

func openLog(dir string) *auditlog.Log {
	return auditlog.New(auditlog.Params{Dir: dir, Now: func() time.Time { return signedAt }})
}

func digest(t testing.TB, files map[string][]byte, name string) string {
	t.Helper()
	if files[name] == nil {
		t.Fatalf("there is no example %s", name)
	}
	return item.DigestOf(files[name]).String()
}

// The log of the examples is valid, and every change of it has a finding.
func TestSignatureLog(t *testing.T) {
	dir := t.TempDir()
	for _, name := range logFiles {
		write(t, filepath.Join(dir, name), []byte(read(t, "examples/state/"+name)))
	}
	rep, err := openLog(dir).Read(t.Context(), 0)
	if err != nil || rep.Err() != nil || len(rep.Findings) > 0 || rep.Total != 3 {
		t.Fatalf("%+v, %v", rep, err)
	}
	first := item.DigestOf([]byte("rye.dev/signatures/v1\n")).String()
	if page := read(t, "signature-log.md"); rep.Entries[0].Prev != first || !strings.Contains(page, "`"+first+"`") {
		t.Errorf("the first line names %s, and the page does not say %s", rep.Entries[0].Prev, first)
	}
	text := []byte(read(t, "examples/state/"+auditlog.File))
	write(t, filepath.Join(dir, auditlog.File), bytes.Replace(text, []byte("demo/greet"), []byte("demo/great"), 1))
	rep, err = openLog(dir).Read(t.Context(), 0)
	if err != nil || diag.CodeOf(rep.Err()) != diag.TranscriptBroken || rep.Findings[0].Line != 2 {
		t.Errorf("altered: %+v, %v", rep, err)
	}
}
