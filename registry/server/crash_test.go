package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
)

// TestMain is also the programs that the tests of crashes start, by their name.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "traced":
		fmt.Println(testkit.FilterMain(os.Args[1:]))
		os.Exit(1)
	case "publisher":
		os.Exit(publisherMain(os.Args[1]))
	case "filler":
		os.Exit(fillerMain(os.Args[1]))
	}
	os.Exit(m.Run())
}

var crashTime = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func childParams(dir string) Params {
	return Params{Dir: dir, Judge: acceptAll, Now: func() time.Time { return crashTime }}
}

// prepared is a signed request in a file.
type prepared struct {
	Header string
	Body   []byte
}

// publisherMain opens a registry and publishes one version.
func publisherMain(dir string) int {
	b, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "request"))
	var p prepared
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err == nil {
		err = publishPrepared(dir, p)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func publishPrepared(dir string, p prepared) error {
	ctx := context.Background()
	s, err := Open(ctx, childParams(dir))
	if err != nil {
		return err
	}
	defer s.Close()
	st, err := wire.ParseHeader(p.Header)
	if err != nil {
		return err
	}
	_, err = s.publish(ctx, &request{statement: st, body: p.Body, address: "test", now: crashTime})
	return err
}

// program returns a program that this test binary is under another name.
func program(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), name)
	if err := os.Link(self, to); err != nil {
		b, err := os.ReadFile(self)
		if err == nil {
			err = os.WriteFile(to, b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func prepare(t testing.TB, version, text string) prepared {
	t.Helper()
	b, sum := archive(t, text)
	header, err := statement(wire.ActionPublish, "acme/tools", version, b, sum).Sign(context.Background(), testkit.Key(1), crashTime)
	if err != nil {
		t.Fatal(err)
	}
	return prepared{header, b}
}

// TestCrashPublish kills a publication before each change that it makes on the disk. Then
// nothing is visible that the log does not have, and the next start has an exact tree.
func TestCrashPublish(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts a process for each change of a file")
	}
	f := newFixture(t)
	f.grant("acme", 1)
	f.mustPublish("acme/tools", "v1.0.0")
	f.close()
	p := prepare(t, "v1.1.0", "new")
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	dir := filepath.Join(root, "reg")
	if err := os.WriteFile(filepath.Join(root, "request"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	publisher, filter := program(t, "publisher"), program(t, "traced")
	run := func(kill int) testkit.Traced {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, os.DirFS(f.dir)); err != nil {
			t.Fatal(err)
		}
		got, err := testkit.Trace{Filter: filter, Program: publisher, Args: []string{publisher, dir}, Dir: root, Env: os.Environ(), Kill: kill}.Run()
		if errors.Is(err, testkit.ErrNoTracer) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	all := run(0)
	if all.Status != 0 || len(all.Changes) < 20 {
		t.Fatalf("status %d after %d changes", all.Status, len(all.Changes))
	}
	step := 1
	if os.Getenv("RYE_CRASH") == "" {
		step = max(1, len(all.Changes)/8)
	}
	before, after := 0, 0
	for n := 1; n <= len(all.Changes); n += step {
		got := run(n)
		if !got.Killed {
			t.Fatalf("change %d was not reached", n)
		}
		where := fmt.Sprintf("killed before change %d (%s)", n, got.Changes[len(got.Changes)-1])
		if afterCrash(t, dir, where, p) {
			after++
		} else {
			before++
		}
	}
	t.Logf("%d changes: %d times the version was not published, %d times it was", len(all.Changes), before, after)
	if before == 0 || after == 0 {
		t.Errorf("the crashes were not before and after the entry: %d and %d", before, after)
	}
}

// afterCrash checks the files that a killed process left, and those of the next start. It
// reports whether the version is published.
func afterCrash(t *testing.T, dir, where string, p prepared) bool {
	t.Helper()
	tree, err := PublicTree(dir)
	if err != nil {
		t.Fatal(where, err)
	}
	seen, err := tree.Verify(context.Background())
	if err != nil {
		t.Fatal(where, err)
	}
	for _, f := range seen.Findings { // an index may lack its newest line, never have one without an entry
		if f.Severity == diag.SeverityError && (strings.Contains(f.Message, "have no log entry") || f.Code == diag.BundleFileMissing || f.Code == diag.HashMismatch) {
			t.Errorf("%s: %s: %s", where, f.Path, f.Message)
		}
	}
	s, err := Open(context.Background(), childParams(dir))
	if err != nil {
		t.Fatal(where, err)
	}
	published := s.snapshot().Version("acme/tools", "v1.1.0") != nil
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	exact, err := tree.Verify(context.Background())
	if err != nil {
		t.Fatal(where, err)
	}
	for _, f := range exact.Findings {
		if f.Severity == diag.SeverityError {
			t.Errorf("%s, after the next start: %s: %s", where, f.Path, f.Message)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "tmp", "*")); len(left) > 0 {
		t.Errorf("%s: temporary files are left: %s", where, left)
	}
	if published {
		return true
	}
	// Another request publishes it.
	err = publishPrepared(dir, prepare(t, "v1.1.0", "again"))
	if err != nil {
		t.Errorf("%s: publishing again: %v", where, err)
	}
	return false
}

// fillerMain fills the disk while it publishes, then frees the disk and publishes again.
func fillerMain(dir string) int {
	if err := fill(dir); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("complete")
	return 0
}

func fill(dir string) error {
	ctx := context.Background()
	p := childParams(dir)
	p.Host = testHost
	if err := Create(p); err != nil {
		return err
	}
	config := `{"limits": {"publish_per_hour": 100000, "publish_per_day": 100000}}`
	if err := os.WriteFile(filepath.Join(dir, configFile), []byte(config), 0o600); err != nil {
		return err
	}
	s, err := Open(ctx, p)
	if err != nil {
		return err
	}
	defer s.Close()
	document, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "document"))
	if err != nil {
		return err
	}
	if _, err := s.grant(ctx, "acme", document); err != nil {
		return err
	}
	filler := filepath.Join(dir, "filler")
	published, refused := 0, 0
	for i := 0; refused < 40; i++ {
		if i == 5 { // little is left: the disk is full in the middle of a publication
			if err := fillUp(filler, 24<<10); err != nil {
				return err
			}
		}
		if err := publishText(ctx, s, fmt.Sprintf("v0.%d.0", i)); err != nil {
			if code := diag.CodeOf(err); code != diag.RegistryError {
				return fmt.Errorf("publication %d: %w", i, err)
			}
			refused++
			continue
		}
		published++
	}
	if published < 5 {
		return fmt.Errorf("only %d publications succeeded", published)
	}
	if err := os.Remove(filler); err != nil {
		return err
	}
	if err := publishText(ctx, s, "v1.0.0"); err != nil {
		return fmt.Errorf("with space again: %w", err)
	}
	tree, err := PublicTree(dir)
	if err != nil {
		return err
	}
	r, err := tree.Verify(ctx)
	if err != nil {
		return err
	}
	return diag.FromFindings("verifying the registry", r.Findings)
}

// fillUp writes zeros until at most left bytes are free.
func fillUp(file string, left int64) error {
	free, ok := freeSpace(filepath.Dir(file))
	if !ok || free < left {
		return fmt.Errorf("%d bytes are free", free)
	}
	return os.WriteFile(file, make([]byte, free-left), 0o600)
}

func publishText(ctx context.Context, s *Server, version string) error {
	b, sum, err := pack(version)
	if err != nil {
		return err
	}
	st := &wire.Statement{Registry: testHost, Action: wire.ActionPublish, ID: "acme/tools", Version: version, Body: item.DigestOf(b).String(), Sum: sum}
	header, err := st.Sign(ctx, testkit.Key(1), crashTime)
	if err != nil {
		return err
	}
	signed, err := wire.ParseHeader(header)
	if err != nil {
		return err
	}
	_, err = s.publish(ctx, &request{statement: signed, body: b, address: "test", now: crashTime})
	return err
}

func pack(text string) (b []byte, sum string, err error) {
	if b, err = wire.Pack([]wire.File{{Path: ".ai/knowledge/demo/x.md", Data: bytes.Repeat([]byte(text), 50)}}); err != nil {
		return nil, "", err
	}
	_, sum, err = rules.Unpack(context.Background(), b)
	return b, sum, err
}

// renamed are the files of a log whose checkpoint cannot be flushed after it was replaced.
type renamed struct{ logFiles }

func (r renamed) Write(p string, b []byte) error {
	if err := r.logFiles.Write(p, b); err != nil || p != log.CheckpointName {
		return err
	}
	return errors.New("input/output error")
}

// TestBrokenLog shows that the registry accepts nothing after the log may have an entry in
// spite of an error, keeps the archive that it names, and opens again with the entry.
func TestBrokenLog(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.grant("acme", 1)
	signer, key, err := f.s.readKey()
	if err != nil {
		t.Fatal(err)
	}
	if f.s.writer, err = log.Open(t.Context(), renamed{logFiles{f.s.base}}, testHost+wire.LogPath, signer, key); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"v1.0.0", "v1.1.0"} {
		if _, err := f.publish("acme/tools", version, version, 1); diag.CodeOf(err) != diag.RegistryError {
			t.Fatal(version, err)
		}
	}
	f.reopen()
	if n := f.check(); n != 2 {
		t.Errorf("the log has %d entries", n)
	}
	f.mustPublish("acme/tools", "v1.1.0")
	f.check()
}

// TestFullDisk publishes on a small file system until it is full.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it mounts a file system")
	}
	f := newFixture(t)
	root := t.TempDir()
	mounted := filepath.Join(root, "small")
	if err := os.Mkdir(mounted, 0o755); err != nil {
		t.Fatal(err)
	}
	document := f.document(1, nil)
	script := `mount -t tmpfs -o size=1m none "$1" || exit 99; cp "$2" "$1/document" && exec "$3" "$1/reg"`
	doc := filepath.Join(root, "document")
	if err := os.WriteFile(doc, document, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("unshare", "-rm", "sh", "-c", script, "sh", mounted, doc, program(t, "filler")).CombinedOutput()
	var exit *exec.ExitError
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.As(err, &exit) && (exit.ExitCode() == 99 || strings.Contains(string(out), "unshare")) {
		t.Skipf("no file system can be mounted: %s", out)
	}
	if err != nil || !strings.Contains(string(out), "complete") {
		t.Fatalf("%v\n%s", err, out)
	}
}
