package log

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const testOrigin = "rye.example/log"

// memory is the Files of tests.
type memory map[string][]byte

func (m memory) Read(_ context.Context, path string, limit int64) ([]byte, error) {
	b, ok := m[path]
	if !ok {
		return nil, fmt.Errorf("reading %s: %w", path, fs.ErrNotExist)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("reading %s: more than %d bytes", path, limit)
	}
	return b, nil
}

func (m memory) Write(path string, b []byte) error {
	m[path] = append([]byte(nil), b...)
	return nil
}

type seed byte

func (s seed) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(s)
	}
	return len(p), nil
}

type fixture struct {
	files  memory
	w      *Writer
	signer *Signer
	key    string
	leaves [][]byte
}

func newFixture(t testing.TB, n int) *fixture {
	t.Helper()
	secret, key, err := GenerateKey(seed(7), "rye.example")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := NewSigner(secret + "\n")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{files: memory{}, signer: signer, key: key}
	f.w = f.open(t)
	f.add(t, n, "entry")
	return f
}

func (f *fixture) open(t testing.TB) *Writer {
	t.Helper()
	w, err := Open(t.Context(), f.files, testOrigin, f.signer, f.key)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (f *fixture) add(t testing.TB, n int, text string) {
	t.Helper()
	var list [][]byte
	for range n {
		list = append(list, fmt.Appendf(nil, "%s %d\n", text, len(f.leaves)+len(list)))
	}
	first, err := f.w.Append(t.Context(), list...)
	if err != nil || first != int64(len(f.leaves)) {
		t.Fatal(first, err)
	}
	f.leaves = append(f.leaves, list...)
}

func (f *fixture) verifier() Verifier { return Verifier{Origin: testOrigin, Key: f.key} }

func (f *fixture) reader(t testing.TB) *Reader {
	t.Helper()
	c, err := f.verifier().Verify(f.files[CheckpointName])
	if err != nil {
		t.Fatal(err)
	}
	return NewReader(f.files.Read, c.Tree)
}

// model is the tree by definition: every hash of every complete node, from x/mod alone.
func model(t testing.TB, leaves [][]byte) (*builder, Tree) {
	t.Helper()
	b := &builder{}
	for i, e := range leaves {
		h, err := tlog.StoredHashes(int64(i), e, b)
		if err != nil {
			t.Fatal(err)
		}
		b.stored = append(b.stored, h...)
		b.size++
	}
	tree, err := b.tree()
	if err != nil {
		t.Fatal(err)
	}
	return b, tree
}

// TestAppend compares trees that were appended in steps of random sizes, by one or many
// writers, with the definition, and every proof with x/mod's own.
func TestAppend(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 12 {
		f := newFixture(t, 0)
		for range 1 + r.IntN(6) {
			f.add(t, []int{1, 2, 3, 254, 255, 256, 257, 600}[r.IntN(8)], "entry")
			if r.IntN(2) == 0 {
				f.w = f.open(t) // another process
			}
		}
		m, want := model(t, f.leaves)
		rd := f.reader(t)
		if rd.Tree() != want || f.w.Tree() != want {
			t.Fatalf("round %d: tree %s, want %s", round, rd.Tree(), want)
		}
		for range 20 {
			n := r.Int64N(want.Size)
			p, err := tlog.ProveRecord(want.Size, n, m)
			got, err2 := rd.Prove(t.Context(), n)
			e, err3 := rd.Entry(t.Context(), n)
			if err != nil || err2 != nil || err3 != nil || got.String() != Proof(p).String() || string(e) != string(f.leaves[n]) {
				t.Fatalf("round %d: entry %d: %v %v %v", round, n, err, err2, err3)
			}
			_, older := model(t, f.leaves[:n+1])
			tp, err := tlog.ProveTree(want.Size, older.Size, m)
			got, err2 = rd.Consistency(t.Context(), older)
			if err != nil || err2 != nil || got.String() != Proof(tp).String() {
				t.Fatalf("round %d: consistency with %d: %v %v", round, older.Size, err, err2)
			}
		}
		n := int64(0)
		if err := rd.Check(t.Context(), func(i int64, _ []byte) error { n = i + 1; return nil }); err != nil || n != want.Size {
			t.Fatalf("round %d: %v after %d", round, err, n)
		}
	}
}

// TestOldPartialTiles reads a tree after a server has removed the partial tiles that full
// ones replaced.
func TestOldPartialTiles(t *testing.T) {
	f := newFixture(t, 100)
	rd := f.reader(t)
	f.add(t, 200, "entry")
	maps.DeleteFunc(f.files, func(p string, _ []byte) bool { return strings.HasSuffix(p, ".p/100") })
	if e, err := rd.Entry(t.Context(), 70); err != nil || string(e) != string(f.leaves[70]) {
		t.Fatal(string(e), err)
	}
}

// TestForks is V56, V57 and V58: trees that differ before the older checkpoint.
func TestForks(t *testing.T) {
	a, b := newFixture(t, 300), newFixture(t, 299)
	b.add(t, 1, "another")
	b.add(t, 50, "entry")
	older := a.reader(t).Tree()
	p, err := b.reader(t).Consistency(t.Context(), older)
	if !errors.Is(err, ErrInconsistent) || len(p) == 0 {
		t.Fatalf("V56: %v, %d hashes", err, len(p))
	}
	// The proof is evidence: a third party needs the two signed trees and no server.
	if CheckConsistency(p, b.reader(t).Tree(), older) == nil {
		t.Fatal("V56: the proof leads to the older root")
	}
	if _, err := a.reader(t).Consistency(t.Context(), b.reader(t).Tree()); !errors.Is(err, ErrIndex) {
		t.Fatal("V57:", err)
	}
	c := newFixture(t, 299)
	c.add(t, 1, "another")
	if _, err := c.reader(t).Consistency(t.Context(), older); !errors.Is(err, ErrInconsistent) {
		t.Fatal("V58:", err)
	}
	if p, err := a.reader(t).Consistency(t.Context(), older); err != nil || len(p) != 0 {
		t.Fatal("equal trees:", p, err)
	}
}

func witnessKey(n byte) ed25519.PrivateKey {
	s := sha256.Sum256([]byte{n})
	return ed25519.NewKeyFromSeed(s[:])
}

// logKey is the key of the log of newFixture.
func logKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	secret, _, err := GenerateKey(seed(7), "rye.example")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(secret[strings.LastIndex(secret, "+")+1:])
	if err != nil {
		t.Fatal(err)
	}
	return ed25519.NewKeyFromSeed(raw[1:])
}

// TestWitnesses is V59.
func TestWitnesses(t *testing.T) {
	f := newFixture(t, 3)
	now := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	key := func(name string, n byte) string {
		return WitnessKey(name, witnessKey(n).Public().(ed25519.PublicKey))
	}
	cosign := func(msg []byte, name string, n byte, at time.Time) []byte {
		out, err := Cosign(msg, name, witnessKey(n), at)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	msg := f.files[CheckpointName]
	other, err := f.signer.Sign("other.example/log", f.w.Tree())
	if err != nil {
		t.Fatal(err)
	}
	other = cosign(other, "w1.example", 1, now)
	foreign := append(append([]byte{}, msg...), other[strings.LastIndex(string(other), "— "):]...)
	own, err := Cosign(msg, "w0.example", logKey(t), now)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		msg     []byte
		quorum  int
		want    error
		signers int
	}{
		{"quorum", cosign(cosign(msg, "w1.example", 1, now), "w2.example", 2, now), 2, nil, 2},
		{"unknown witness", cosign(msg, "w9.example", 9, now), 1, ErrQuorum, 0},
		{"unknown witness without quorum", cosign(msg, "w9.example", 9, now), 0, nil, 0},
		{"old cosignature", cosign(msg, "w1.example", 1, now.Add(-8*24*time.Hour)), 1, ErrQuorum, 0},
		{"future cosignature", cosign(msg, "w1.example", 1, now.Add(time.Hour)), 1, ErrQuorum, 0},
		{"cosignature of another origin", foreign, 0, ErrSignature, 0},
		{"one key under two names", cosign(cosign(msg, "w1.example", 1, now), "w1b.example", 1, now), 2, ErrQuorum, 1},
		{"the key of the log as a witness", own, 1, ErrQuorum, 0},
		{"the key of the log and a witness", cosign(own, "w1.example", 1, now), 2, ErrQuorum, 1},
		{"one witness twice", cosign(cosign(msg, "w1.example", 1, now), "w1.example", 1, now), 2, ErrQuorum, 1},
	}
	for _, tt := range tests {
		v := f.verifier()
		v.Now, v.Quorum = func() time.Time { return now }, tt.quorum
		v.Witnesses = []string{key("w1.example", 1), key("w1b.example", 1), key("w2.example", 2), WitnessKey("w0.example", logKey(t).Public().(ed25519.PublicKey))}
		c, err := v.Verify(tt.msg)
		if !errors.Is(err, tt.want) || err == nil && len(c.Witnesses) != tt.signers {
			t.Errorf("%s: %v, want %v with %d signers", tt.name, err, tt.want, tt.signers)
		}
	}
}

// TestQuorumTime is the age of a checkpoint: one witness that signs an old state again does
// not make it new.
func TestQuorumTime(t *testing.T) {
	f := newFixture(t, 3)
	now := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	msg := f.files[CheckpointName]
	v := f.verifier()
	v.Now = func() time.Time { return now }
	for n, age := range map[byte]time.Duration{1: 0, 2: 48 * time.Hour, 3: 72 * time.Hour} {
		name := fmt.Sprintf("w%d.example", n)
		v.Witnesses = append(v.Witnesses, WitnessKey(name, witnessKey(n).Public().(ed25519.PublicKey)))
		for _, at := range []time.Time{now.Add(-age - time.Hour), now.Add(-age)} { // each signed twice
			var err error
			if msg, err = Cosign(msg, name, witnessKey(n), at); err != nil {
				t.Fatal(err)
			}
		}
	}
	for quorum, age := range []time.Duration{0, 0, 48 * time.Hour, 72 * time.Hour} {
		v.Quorum = quorum
		c, err := v.Verify(msg)
		if err != nil || now.Sub(c.Time) > age+time.Hour || now.Sub(c.Time) < age {
			t.Errorf("quorum %d: %v, %v; want an age of %v", quorum, c, err, age)
		}
	}
	v.Quorum = 4
	if c, err := v.Verify(msg); !errors.Is(err, ErrQuorum) || !c.Time.IsZero() {
		t.Errorf("a quorum of 4 with 3 witnesses: %v, %v", c, err)
	}
}

// TestNotes is V60 and V63.
func TestNotes(t *testing.T) {
	f := newFixture(t, 3)
	good := string(f.files[CheckpointName])
	body, own, _ := strings.Cut(good, "\n\n")
	junk := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "— w%d AAAAAAAA\n", i)
		}
		return b.String()
	}
	wrong := good
	i := strings.LastIndex(wrong, "\n") - 8
	flipped := map[byte]byte{'A': 'B'}[wrong[i]]
	if flipped == 0 {
		flipped = 'A'
	}
	wrong = wrong[:i] + string(flipped) + wrong[i+1:]
	resigned := func(text string) string {
		b, err := note.Sign(&note.Note{Text: text}, f.signer.s)
		if err != nil {
			return text
		}
		return string(b)
	}
	otherName := strings.Replace(own, "— rye.example ", "— other.example ", 1)
	root := f.w.Tree().Root.String()
	tests := []struct {
		name, msg string
		want      error
	}{
		{"good", good, nil},
		{"unknown signature first", body + "\n\n" + junk(1) + own, nil},
		{"99 unknown signatures", body + "\n\n" + junk(99) + own, nil},
		{"101 signatures", body + "\n\n" + junk(100) + own, ErrNote},
		{"control character", strings.Replace(good, "rye.example/log", "rye.example/log\x01", 1), ErrNote},
		{"carriage return", strings.ReplaceAll(good, "\n", "\r\n"), ErrNote},
		{"no blank line", body + "\n" + own, ErrNote},
		{"key id of another name", body + "\n\n" + otherName + own, nil},
		{"only another name", body + "\n\n" + otherName, ErrUnsigned},
		{"wrong signature of the known key", wrong, ErrSignature},
		{"wrong after a right one", good + wrong[strings.LastIndex(wrong, "— "):], nil}, // a repeated key is dropped
		{"wrong before a right one", wrong + own, ErrSignature},
		{"other origin", resigned("other.example/log\n3\n" + root + "\n"), ErrOrigin},
		{"origin of other case", resigned("RYE.example/log\n3\n" + root + "\n"), ErrOrigin},
		{"leading zero", resigned(testOrigin + "\n03\n" + root + "\n"), ErrNote},
		{"negative", resigned(testOrigin + "\n-3\n" + root + "\n"), ErrNote},
		{"short root", resigned(testOrigin + "\n3\nAAAA\n"), ErrNote},
		{"empty tree with a root", resigned(testOrigin + "\n0\n" + root + "\n"), ErrNote},
		{"no root", resigned(testOrigin + "\n3\n"), ErrNote},
		{"extension line", resigned(testOrigin + "\n3\n" + root + "\nmore\n"), nil},
		{"nothing", "", ErrNote},
		{"too long", good + strings.Repeat("x", MaxCheckpoint), ErrNote},
	}
	for _, tt := range tests {
		if _, err := f.verifier().Verify([]byte(tt.msg)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestChangedFiles is V61: a change of any file that a proof reads refuses it, and Check
// finds a change of any file.
func TestChangedFiles(t *testing.T) {
	f := newFixture(t, 700)
	tree := f.reader(t).Tree()
	for _, path := range []string{"tile/0/000", "tile/0/002.p/188", "tile/1/000.p/2", "tile/entries/001", "tile/entries/002.p/188"} {
		files := maps.Clone(f.files)
		b := append([]byte(nil), files[path]...)
		if b == nil {
			t.Fatalf("%s does not exist", path)
		}
		b[len(b)-1] ^= 1
		files[path] = b
		err := NewReader(files.Read, tree).Check(t.Context(), func(int64, []byte) error { return nil })
		if !errors.Is(err, ErrProof) {
			t.Errorf("checking with a changed %s: %v", path, err)
		}
		refused := 0
		for i := int64(0); i < tree.Size; i += 7 {
			e, err := NewReader(files.Read, tree).Entry(t.Context(), i)
			if err == nil && string(e) != string(f.leaves[i]) {
				t.Fatalf("entry %d of a changed %s was accepted", i, path)
			}
			if errors.Is(err, ErrProof) {
				refused++
			}
		}
		last := map[string]int64{"tile/entries/001": 511, "tile/entries/002.p/188": 699}[path]
		if _, err := NewReader(files.Read, tree).Entry(t.Context(), last); last > 0 && !errors.Is(err, ErrProof) || last == 0 && refused == 0 {
			t.Errorf("%s: %v, %d refused", path, err, refused)
		}
		files[path] = b[:len(b)-3]
		if err := NewReader(files.Read, tree).Check(t.Context(), func(int64, []byte) error { return nil }); !errors.Is(err, ErrProof) {
			t.Errorf("checking with a short %s: %v", path, err)
		}
		delete(files, path)
		if err := NewReader(files.Read, tree).Check(t.Context(), func(int64, []byte) error { return nil }); err == nil {
			t.Errorf("checking without %s: no error", path)
		}
	}
}

// TestProofs is V62 and V64.
func TestProofs(t *testing.T) {
	f := newFixture(t, 20)
	rd := f.reader(t)
	tree := rd.Tree()
	p, err := rd.Prove(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	leaf := LeafHash(f.leaves[5])
	if err := CheckInclusion(p, tree, 5, leaf); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"an extra hash":  CheckInclusion(append(p[:len(p):len(p)], Hash{}), tree, 5, leaf),
		"a missing hash": CheckInclusion(p[:len(p)-1], tree, 5, leaf),
		"another index":  CheckInclusion(p, tree, 6, leaf),
		"another leaf":   CheckInclusion(p, tree, 5, LeafHash(f.leaves[6])),
		"no proof":       CheckInclusion(nil, tree, 5, leaf),
		"equal to size":  CheckInclusion(p, tree, 20, leaf),
		"negative":       CheckInclusion(p, tree, -1, leaf),
		"empty tree":     CheckInclusion(nil, EmptyTree(), 0, leaf),
	} {
		if err == nil {
			t.Errorf("V62: %s was accepted", name)
		}
	}
	if _, err := rd.Entry(t.Context(), 20); !errors.Is(err, ErrIndex) {
		t.Error("V62:", err)
	}
	for name, err := range map[string]error{
		"nil roots of different sizes": CheckConsistency(nil, Tree{Size: 2}, Tree{Size: 1}),
		"nil proof":                    CheckConsistency(nil, tree, Tree{Size: 5}),
		"empty tree with another root": CheckConsistency(nil, tree, Tree{}),
		"equal sizes, other root":      CheckConsistency(nil, tree, Tree{Size: tree.Size}),
		"hashes for equal trees":       CheckConsistency(Proof{{}}, tree, tree),
		"hashes for the empty tree":    CheckConsistency(Proof{{}}, tree, EmptyTree()),
		"a larger one":                 CheckConsistency(nil, tree, Tree{Size: 21, Root: tree.Root}),
	} {
		if err == nil {
			t.Errorf("V64: %s was accepted", name)
		}
	}
	if err := CheckConsistency(nil, tree, EmptyTree()); err != nil {
		t.Error(err)
	}
}

// TestFailedAppend repeats an append after the storage failed at each write.
func TestFailedAppend(t *testing.T) {
	f := newFixture(t, 254)
	want := f.w.Tree()
	for n := 0; ; n++ {
		broken := &failing{memory: maps.Clone(f.files), left: n}
		w, err := Open(t.Context(), broken, testOrigin, f.signer, f.key)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Append(t.Context(), []byte("a\n"), []byte("b\n"), []byte("c\n"))
		if err == nil {
			if n < 4 {
				t.Fatalf("only %d writes", n)
			}
			return
		}
		c, err := f.verifier().Verify(broken.memory[CheckpointName])
		if err != nil || c.Tree != want || w.Tree() != want {
			t.Fatalf("after %d writes: %v", n, err)
		}
		broken.left = 100
		if _, err := w.Append(t.Context(), []byte("d\n")); err != nil {
			t.Fatal(err)
		}
		_, tree := model(t, append(f.leaves[:254:254], []byte("d\n")))
		if err := NewReader(broken.memory.Read, tree).Check(t.Context(), func(int64, []byte) error { return nil }); err != nil {
			t.Fatalf("after %d writes: %v", n, err)
		}
	}
}

// TestFaultAfterRename fails a write after the checkpoint was replaced, as when its folder
// cannot be flushed: the writer must not sign another tree of that size.
func TestFaultAfterRename(t *testing.T) {
	for _, unreadable := range []bool{false, true} {
		f := newFixture(t, 3)
		files := &renamed{memory: f.files}
		w, err := Open(t.Context(), files, testOrigin, f.signer, f.key)
		if err != nil {
			t.Fatal(err)
		}
		files.fail, files.unreadable = true, unreadable
		if _, err := w.Append(t.Context(), []byte("a\n")); err == nil {
			t.Fatal("the error of the write was lost")
		}
		files.fail, files.unreadable = false, false
		seen, err := f.verifier().Verify(files.memory[CheckpointName])
		if err != nil || seen.Tree.Size != 4 {
			t.Fatal(seen, err)
		}
		if _, err := w.Append(t.Context(), []byte("b\n")); err == nil {
			t.Error("the writer appended after a checkpoint of which it does not know whether others have it")
		}
		if w, err = Open(t.Context(), files, testOrigin, f.signer, f.key); err != nil || w.Tree() != seen.Tree {
			t.Fatal(w.Tree(), err)
		}
		if _, err := w.Append(t.Context(), []byte("b\n")); err != nil {
			t.Fatal(err)
		}
		_, tree := model(t, append(f.leaves[:3:3], []byte("a\n"), []byte("b\n")))
		if w.Tree() != tree {
			t.Error("the log that was opened again has other entries")
		}
	}
}

// renamed fails after it has written the checkpoint.
type renamed struct {
	memory
	fail, unreadable bool
}

func (r *renamed) Write(path string, b []byte) error {
	if err := r.memory.Write(path, b); err != nil || !r.fail || path != CheckpointName {
		return err
	}
	return errors.New("input/output error")
}

func (r *renamed) Read(ctx context.Context, path string, limit int64) ([]byte, error) {
	if r.unreadable && path == CheckpointName {
		return nil, errors.New("input/output error")
	}
	return r.memory.Read(ctx, path, limit)
}

type failing struct {
	memory
	left int
}

func (f *failing) Write(path string, b []byte) error {
	if f.left--; f.left < 0 {
		return errors.New("no space left on device")
	}
	return f.memory.Write(path, b)
}
