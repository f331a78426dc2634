package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"github.com/ryeos/rye/lock/treehash"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/internal/testing/logtest"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// regTree is a registry as static files, made by a test: what rye registry export writes,
// and, unlike a server, whatever a hostile operator would write.
type regTree struct {
	dir string // with public/ and secret
	ts  *testscript.TestScript
}

// cmdRegTree changes a static registry: see the cases.
func cmdRegTree(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 2, "regtree TREE ACTION ARG…")
	t := &regTree{dir: ts.MkAbs(args[0]), ts: ts}
	do := map[string]func([]string){
		"init":    t.init,                                  // HOST: a new log; sets REGKEY
		"publish": t.publish,                               // DIR ID VERSION
		"state":   t.state,                                 // ID VERSION STATE [REASON]
		"rewrite": t.rewrite,                               // INDEX: the same log with another time in one entry
		"move":    t.move,                                  // DIR ID VERSION: publishes it again under the same version
		"list":    t.list,                                  // ID DESCRIPTION ITEM…: what searches find, by any text
		"edit":    t.edit,                                  // ID OLD NEW: replaces text in an index
		"keydoc":  t.keydoc,                                // NS FILE: serves a key document
		"rotate":  t.rotate,                                // [FORGED]: a new log key, signed by the old one or by another
		"cosign":  t.cosign,                                // NAME AGE: a witness signs the checkpoint; sets WITNESS
		"witness": func(args []string) { t.witness(args) }, // NAME: sets WITNESS to its key, of which the last letter is the seed
	}[args[1]]
	if do == nil {
		ts.Fatalf("regtree has no action %q", args[1])
	}
	do(args[2:])
}

func (t *regTree) path(p string) string { return filepath.Join(t.dir, "public", filepath.FromSlash(p)) }

func (t *regTree) write(p string, b []byte) {
	t.ts.Check(os.MkdirAll(filepath.Dir(t.path(p)), 0o755))
	t.ts.Check(os.WriteFile(t.path(p), b, 0o644))
}

func (t *regTree) text(name string) string {
	b, err := os.ReadFile(filepath.Join(t.dir, name))
	t.ts.Check(err)
	return strings.TrimSpace(string(b))
}

func (t *regTree) put(name, text string) {
	t.ts.Check(os.MkdirAll(t.dir, 0o755))
	t.ts.Check(os.WriteFile(filepath.Join(t.dir, name), []byte(text+"\n"), 0o600))
}

// Read implements log.Files below the log.
func (t *regTree) Read(_ context.Context, p string, _ int64) ([]byte, error) {
	return os.ReadFile(t.path("log/" + p))
}

// Write implements log.Files.
func (t *regTree) Write(p string, b []byte) error { t.write("log/"+p, b); return nil }

func (t *regTree) newKey(host string) {
	secret, key, err := log.GenerateKey(rand.Reader, host)
	t.ts.Check(err)
	t.put("secret", secret)
	t.put("key", key)
	t.ts.Setenv("REGKEY", key)
}

func (t *regTree) init(args []string) {
	t.put("host", args[0])
	t.newKey(args[0])
	t.open()
	t.write(wire.DiscoveryPath[1:], wire.NewDiscovery(args[0], t.text("key"), nil, wire.Limits{}).Render())
}

func (t *regTree) open() *log.Writer {
	signer, err := log.NewSigner(t.text("secret"))
	t.ts.Check(err)
	w, err := log.Open(context.Background(), t, t.text("host")+wire.LogPath, signer, t.text("key"))
	t.ts.Check(err)
	return w
}

func (t *regTree) append(e *log.Entry) int64 {
	b, err := e.Render()
	t.ts.Check(err)
	n, err := t.open().Append(context.Background(), b)
	t.ts.Check(err)
	return n
}

// clock is a time that only the number of entries determines.
func (t *regTree) clock() time.Time {
	return time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC).Add(time.Duration(t.open().Tree().Size) * time.Minute)
}

func (t *regTree) index(id wire.ID) []*wire.Line {
	b, err := os.ReadFile(t.path("index" + id.IndexPath()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	t.ts.Check(err)
	lines, err := wire.ParseIndex(b, id)
	t.ts.Check(err)
	return lines
}

func (t *regTree) setIndex(id wire.ID, lines []*wire.Line) {
	var b []byte
	for _, l := range lines {
		b = append(b, l.Render()...)
	}
	t.write("index"+id.IndexPath(), b)
}

func (t *regTree) id(s string) wire.ID {
	id, err := wire.ParseID(s)
	t.ts.Check(err)
	return id
}

// release packs a bundle, writes its archive and its entry, and returns its line.
func (t *regTree) release(args []string) *wire.Line {
	dir, id, version := t.ts.MkAbs(args[0]), t.id(args[1]), args[2]
	var files []wire.File
	l := &wire.Line{V: 1, ID: id.String(), Version: version, State: wire.StateOK}
	t.ts.Check(filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		rel = filepath.ToSlash(rel)
		if err != nil || d.IsDir() || !source.Carried(rel) {
			return err
		}
		info, err := d.Info()
		t.ts.Check(err)
		b, err := os.ReadFile(p)
		t.ts.Check(err)
		files = append(files, wire.File{Path: rel, Executable: info.Mode()&0o111 != 0, Data: b})
		if _, ok := bundle.ManifestID(rel); ok {
			l.Manifest = item.DigestOf(b).String()
			sp, err := sign.SplitFile(b, sign.Hash())
			t.ts.Check(err)
			l.Signers = []string{wire.KeyText(sp.Line.Key)}
		}
		return nil
	}))
	archive, err := wire.Pack(files)
	t.ts.Check(err)
	list, err := wire.Unpack(context.Background(), bytes.NewReader(archive), func(wire.File) error { return nil })
	t.ts.Check(err)
	sum, err := treehash.Of(list)
	t.ts.Check(err)
	now := t.clock()
	l.Sum, l.Archive, l.Size, l.Publisher, l.Published = sum, item.DigestOf(archive).String(), int64(len(archive)), l.Signers[0], wire.TimeText(now)
	t.write("archive"+wire.ArchiveFile(l.Archive), archive)
	l.Log = t.append(&log.Entry{Type: log.Release, ID: l.ID, Version: version, Sum: sum, Archive: l.Archive, Manifest: l.Manifest,
		Signers: l.Signers, Publisher: l.Publisher, Time: now, Statement: item.DigestOf([]byte(version)).String()})
	return l
}

func (t *regTree) publish(args []string) {
	id := t.id(args[1])
	t.setIndex(id, append(t.index(id), t.release(args)))
}

func (t *regTree) move(args []string) {
	id := t.id(args[1])
	moved := t.release(args)
	lines := slices.DeleteFunc(t.index(id), func(l *wire.Line) bool { return l.Version == args[2] })
	t.setIndex(id, append(lines, moved))
}

func (t *regTree) state(args []string) {
	id := t.id(args[0])
	lines := t.index(id)
	for _, l := range lines {
		if l.Version != args[1] {
			continue
		}
		l.State, l.Reason = args[2], strings.Join(args[3:], " ")
		n := t.append(&log.Entry{Type: log.State, ID: l.ID, Version: l.Version, State: l.State, Reason: l.Reason, Time: t.clock()})
		l.StateLog = &n
		if l.State == wire.StateDeleted {
			t.ts.Check(os.Remove(t.path("archive" + wire.ArchiveFile(l.Archive))))
		}
	}
	t.setIndex(id, lines)
}

// rewrite makes the log again with another time in one entry, and the index to match.
func (t *regTree) rewrite(args []string) {
	var list [][]byte
	var changed *log.Entry
	w := t.open()
	t.ts.Check(log.NewReader(t.Read, w.Tree()).Check(context.Background(), func(n int64, b []byte) error {
		if fmt.Sprint(n) == args[0] {
			e, err := log.ParseEntry(b)
			t.ts.Check(err)
			e.Time = e.Time.Add(time.Second)
			changed = e
			b, err = e.Render()
			t.ts.Check(err)
		}
		list = append(list, bytes.Clone(b))
		return nil
	}))
	t.ts.Check(os.RemoveAll(t.path("log")))
	_, err := t.open().Append(context.Background(), list...)
	t.ts.Check(err)
	id := t.id(changed.ID)
	lines := t.index(id)
	for _, l := range lines {
		if l.Version == changed.Version {
			l.Published = wire.TimeText(changed.Time)
		}
	}
	t.setIndex(id, lines)
}

// list describes the newest version of a bundle for searches, with a text that no key signed.
func (t *regTree) list(args []string) {
	lines := t.index(t.id(args[0]))
	newest := lines[len(lines)-1]
	found := wire.Found{
		ID:          newest.ID,
		Version:     newest.Version,
		Description: args[1],
		Signers:     newest.Signers,
		First:       newest.Published,
		Published:   newest.Published,
		State:       newest.State,
	}
	for _, ref := range args[2:] {
		found.Items = append(found.Items, wire.FoundItem{Ref: ref, Description: args[1]})
	}
	b, err := wire.RenderSegment([]wire.Found{found})
	t.ts.Check(err)
	segment := wire.Segment{Digest: item.DigestOf(b).String(), Size: int64(len(b)), Bundles: 1}
	manifest := &wire.SearchManifest{V: 1, Segments: []wire.Segment{segment}}
	t.write(wire.SearchPath[1:]+segment.Path(), b)
	t.write(wire.SearchPath[1:]+"/manifest.json", manifest.Render())
}

func (t *regTree) edit(args []string) {
	p := t.path("index" + t.id(args[0]).IndexPath())
	b, err := os.ReadFile(p)
	t.ts.Check(err)
	if !bytes.Contains(b, []byte(args[1])) {
		t.ts.Fatalf("the index has no %q: %s", args[1], b)
	}
	t.ts.Check(os.WriteFile(p, bytes.ReplaceAll(b, []byte(args[1]), []byte(args[2])), 0o644))
}

func (t *regTree) keydoc(args []string) {
	b, err := os.ReadFile(t.ts.MkAbs(args[1]))
	t.ts.Check(err)
	d, fs := doc.ParseAnyName(b)
	key := doc.As[*doc.Key](d, fs)
	if key == nil {
		t.ts.Fatalf("%v", fs)
	}
	ns := &wire.Namespace{V: 1, Namespace: args[0], Keys: []wire.BoundKey{{Key: wire.KeyText(key.Fingerprint), Document: string(b), Method: wire.MethodOperator}}}
	t.write(wire.NamespacePath(args[0])[1:], ns.Render())
}

// logSigner signs documents with the key of a log.
func (t *regTree) logSigner() sign.Signer {
	parts := strings.SplitN(t.text("secret"), "+", 5) // PRIVATE+KEY+NAME+HASH+KEY
	raw, err := base64.StdEncoding.DecodeString(parts[4])
	t.ts.Check(err)
	return sign.NewFileSigner(ed25519.NewKeyFromSeed(raw[1:]), "memory")
}

func (t *regTree) rotate(args []string) {
	old, signer, tree := t.text("key"), t.logSigner(), t.open().Tree()
	host := t.text("host")
	t.newKey(host)
	if len(args) > 0 {
		signer = t.logSigner()
	}
	_, b, err := doc.NewRegistry(context.Background(), doc.RegistryParams{Host: host, LogKey: t.text("key"), Replaces: old}, signer, t.clockAt(tree))
	if len(args) > 0 { // a document that the parser refuses is written by hand
		_, b, err = doc.NewRegistry(context.Background(), doc.RegistryParams{Host: host, LogKey: t.text("key")}, signer, t.clockAt(tree))
		b = bytes.Replace(b, []byte("log-key"), []byte("replaces = \""+old+"\"\nlog-key"), 1)
	}
	t.ts.Check(err)
	_, rest, _ := strings.Cut(old, "+")
	hash, _, _ := strings.Cut(rest, "+")
	t.write("log/rotation/"+hash+".toml", b)
	s, err := log.NewSigner(t.text("secret"))
	t.ts.Check(err)
	note, err := s.Sign(host+wire.LogPath, tree)
	t.ts.Check(err)
	t.write("log/"+log.CheckpointName, note)
	t.write(wire.DiscoveryPath[1:], wire.NewDiscovery(host, t.text("key"), nil, wire.Limits{}).Render())
}

func (t *regTree) clockAt(tree log.Tree) time.Time {
	return time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC).Add(time.Duration(tree.Size) * time.Minute)
}

func (t *regTree) witness(args []string) ed25519.PrivateKey {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{args[0][len(args[0])-1]}, ed25519.SeedSize))
	t.ts.Setenv("WITNESS", log.WitnessKey(args[0], key.Public().(ed25519.PublicKey)))
	return key
}

func (t *regTree) cosign(args []string) {
	key := t.witness(args)
	age, err := time.ParseDuration(args[1])
	t.ts.Check(err)
	b, err := os.ReadFile(t.path("log/" + log.CheckpointName))
	t.ts.Check(err)
	b, err = log.Cosign(b, args[0], key, time.Now().Add(-age))
	t.ts.Check(err)
	t.write("log/"+log.CheckpointName, b)
}

// cmdRegServe serves the public files of a static registry over HTTP until the script ends,
// as any web server would, sets a variable to its address, and writes a line for each
// request to TREE.log.
func cmdRegServe(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "regserve TREE VARIABLE")
	root, file := filepath.Join(ts.MkAbs(args[0]), "public"), ts.MkAbs(args[0])+".log"
	var mu sync.Mutex
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		status := serveStatic(w, r, root)
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			fmt.Fprintf(f, "%s %s %d\n", r.Method, r.URL.Path, status)
			f.Close()
		}
	}))
	ts.Defer(srv.Close)
	ts.Setenv(args[1], srv.URL)
}

func serveStatic(w http.ResponseWriter, r *http.Request, root string) int {
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(filepath.Clean("/"+r.URL.Path))))
	if err != nil {
		http.NotFound(w, r)
		return http.StatusNotFound
	}
	tag := `"` + item.DigestOf(b).Hex()[:16] + `"`
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return http.StatusNotModified
	}
	w.Write(b)
	return http.StatusOK
}

// cmdEvidence verifies the evidence below the state of a registry as a third party would:
// with x/mod alone, and nothing of rye.
func cmdEvidence(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "evidence DIR")
	dirs, _ := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "equivocation", "*"))
	moved, _ := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "moved", "*"))
	if len(dirs)+len(moved) == 0 {
		ts.Fatalf("there is no evidence in %s", args[0])
	}
	for _, dir := range dirs {
		ts.Check(logtest.CheckFork(dir))
	}
	for _, dir := range moved {
		ts.Check(logtest.CheckMoved(dir))
	}
}

// cmdRegKey sets REGKEY to the log key that a registry names.
func cmdRegKey(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "regkey URL")
	a, err := http.Get(args[0] + wire.DiscoveryPath)
	ts.Check(err)
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	ts.Check(err)
	_, rest, _ := strings.Cut(string(b), `"key":"`)
	key, _, _ := strings.Cut(rest, `"`)
	ts.Setenv("REGKEY", key)
}
