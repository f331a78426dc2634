package memo

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

func digest(n int) [sha256.Size]byte {
	return sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

// open is New for a test or benchmark, which closes the table at its end.
func open(t testing.TB, dir string) *Memo {
	m := New(dir)
	t.Cleanup(m.Close)
	return m
}

// filled returns the directory of a memo with n facts.
func filled(t testing.TB, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "memo")
	m := New(dir)
	defer m.Close()
	end := m.Batch()
	for i := range n {
		m.Add(Signature, digest(i))
	}
	end()
	if err := m.Refused(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// known counts the known facts among n.
func known(dir string, n int) int {
	m, sum := New(dir), 0
	defer m.Close()
	for i := range n {
		if m.Known(Signature, digest(i)) {
			sum++
		}
	}
	return sum
}

// invented counts facts that were not added and that the memo knows.
func invented(dir string) int {
	m, sum := New(dir), 0
	defer m.Close()
	for i := range 64 {
		if m.Known(Signature, digest(-1-i)) || m.Known(Plain, digest(i)) {
			sum++
		}
	}
	return sum
}

func TestMemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "memo")
	m := open(t, dir)
	if m.Known(Signature, digest(1)) {
		t.Fatal("an absent memo knows a fact")
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("a lookup created the directory")
	}
	m.Add(Signature, digest(1))
	for name, m := range map[string]*Memo{"the same": m, "another process": open(t, dir)} {
		if !m.Known(Signature, digest(1)) {
			t.Errorf("%s does not know the fact", name)
		}
		if m.Known(Signature, digest(2)) || m.Known(Plain, digest(1)) {
			t.Errorf("%s knows a fact that was not added", name)
		}
	}
	if fi, err := os.Lstat(filepath.Join(dir, secretName)); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("the secret: %v %v", fi, err)
	}
	var none *Memo
	none.Add(Signature, digest(1))
	none.Batch()()
	if none.Known(Signature, digest(1)) || none.Refused() != nil {
		t.Error("a nil memo knows something")
	}
}

func TestBatchReadsTheTable(t *testing.T) {
	dir := filled(t, 3*manyLookups)
	m := open(t, dir)
	end := m.Batch()
	for i := range 3 * manyLookups {
		if !m.Known(Signature, digest(i)) {
			t.Fatalf("fact %d is not known", i)
		}
	}
	if m.table == nil {
		t.Error("the table was read in pieces")
	}
	end()
	if m.table != nil {
		t.Error("the table stays in memory")
	}
}

// TestBounded adds three times as many facts as the table has slots.
func TestBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const slots = tableSize / tagSize
	dir := filled(t, 3*slots)
	if fi, err := os.Stat(filepath.Join(dir, tableName)); err != nil || fi.Size() > tableSize {
		t.Fatalf("the table has %v bytes: %v", fi.Size(), err)
	}
	m := open(t, dir)
	last := 0
	for i := 3*slots - 1000; i < 3*slots; i++ {
		if m.Known(Signature, digest(i)) {
			last++
		}
	}
	if last < 500 {
		t.Errorf("%d of the last 1000 facts are known", last)
	}
}

// TestForged writes every tag that can be computed without the secret.
func TestForged(t *testing.T) {
	dir := filled(t, 1)
	path := filepath.Join(dir, tableName)
	real, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range [][]byte{nil, make([]byte, secretSize), bytes.Repeat([]byte{0xff}, secretSize), real[:secretSize]} {
		table := make([]byte, tableSize)
		macs := &sync.Pool{New: func() any { return hmac.New(sha256.New, secret) }}
		for i := range 64 {
			d := digest(-1 - i)
			for _, tag := range []tag{tagOf(macs, fact{Signature, d}), tag(d[:])} {
				insert(table[tag.bucket()*bucketSize:][:bucketSize], tag)
			}
		}
		if err := os.WriteFile(path, table, 0o600); err != nil {
			t.Fatal(err)
		}
		if n := invented(dir); n > 0 {
			t.Errorf("%d forged facts are known", n)
		}
	}
	// The real tag in every other slot, also in that of another fact.
	m := open(t, dir)
	m.Known(Signature, digest(0))
	mine := tagOf(m.macs, fact{Signature, digest(0)})
	if err := os.WriteFile(path, bytes.Repeat(mine[:], tableSize/tagSize), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := invented(dir); n > 0 {
		t.Errorf("%d facts are known by the tag of another", n)
	}
	if known(dir, 1) != 1 {
		t.Error("the real fact is lost")
	}
}

// TestForeign takes the table, the secret or both from another user.
func TestForeign(t *testing.T) {
	theirs, mine := filled(t, 64), filled(t, 1)
	for i := range 64 {
		if i > 0 && open(t, mine).Known(Signature, digest(i)) {
			t.Fatal("two memos have one secret")
		}
	}
	table, err := os.ReadFile(filepath.Join(theirs, tableName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(mine, tableName), table, 0o600); err != nil {
		t.Fatal(err)
	}
	if n := known(mine, 64); n != 0 {
		t.Errorf("%d facts of another user are known", n)
	}
	open(t, mine).Add(Signature, digest(7))
	if n := known(mine, 64); n != 1 {
		t.Errorf("after a foreign table, %d facts are known, want 1", n)
	}
}

// TestDamage flips each bit of each byte that is in use, and of the secret.
func TestDamage(t *testing.T) {
	const n = 8
	dir := filled(t, n)
	for _, name := range []string{tableName, secretName} {
		path := filepath.Join(dir, name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range good {
			if b == 0 && name == tableName {
				continue
			}
			bad := bytes.Clone(good)
			bad[i] ^= 1 << (i % 8)
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			lost := n - known(dir, n)
			if want := 1; name == tableName && lost != want {
				t.Fatalf("byte %d of %s: %d facts are lost, want %d", i, name, lost, want)
			} else if name == secretName && lost != n {
				t.Fatalf("byte %d of %s: %d facts are known", i, name, n-lost)
			}
			if n := invented(dir); n > 0 {
				t.Fatalf("byte %d of %s: %d invented facts are known", i, name, n)
			}
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTruncated cuts the files at many lengths, as a crash can, and expects a memo that
// knows nothing that was not added and that works again.
func TestTruncated(t *testing.T) {
	const n = 8
	for _, name := range []string{tableName, secretName} {
		dir := filled(t, n)
		path := filepath.Join(dir, name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			if err := os.WriteFile(path, good[:rand.IntN(len(good))], 0o600); err != nil {
				t.Fatal(err)
			}
			before := known(dir, n)
			if got := invented(dir); got > 0 || before > n {
				t.Fatalf("%s: %d invented facts are known", name, got)
			}
			m, other := open(t, dir), open(t, dir)
			m.Add(Signature, digest(n))
			if !other.Known(Signature, digest(n)) {
				t.Fatalf("%s: the memo is not rebuilt: %v", name, m.Refused())
			}
			m.Close() // Windows removes no file that is open
			other.Close()
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestRefused has a secret that another user may know, and files that are links.
func TestRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	link := func(name string) func(dir string) error {
		return func(dir string) error {
			at := filepath.Join(dir, name)
			if err := os.Rename(at, at+".real"); err != nil {
				return err
			}
			return os.Symlink(name+".real", at)
		}
	}
	for _, tc := range []struct {
		name    string
		spoil   func(dir string) error
		refused bool
	}{
		{"readable secret", func(dir string) error { return os.Chmod(filepath.Join(dir, secretName), 0o644) }, true},
		{"secret writable by the group", func(dir string) error { return os.Chmod(filepath.Join(dir, secretName), 0o620) }, true},
		{"linked secret", link(secretName), true},
		{"a directory that others can write", func(dir string) error { return os.Chmod(dir, 0o777) }, true},
		{"linked table", link(tableName), false},
		{"no secret any more", func(dir string) error { return os.Remove(filepath.Join(dir, secretName)) }, false},
		{"a directory as the table", func(dir string) error {
			at := filepath.Join(dir, tableName)
			if err := os.Remove(at); err != nil {
				return err
			}
			return os.Mkdir(at, 0o700)
		}, false},
	} {
		dir := filled(t, 4)
		if err := tc.spoil(dir); err != nil {
			t.Fatal(err)
		}
		if n := known(dir, 4); n != 0 {
			t.Errorf("%s: %d facts are known", tc.name, n)
		}
		m := open(t, dir)
		if err := m.Refused(); (err != nil) != tc.refused {
			t.Errorf("%s: refused: %v", tc.name, err)
		}
		m.Add(Signature, digest(9))
		if tc.refused && open(t, dir).Known(Signature, digest(9)) {
			t.Errorf("%s: a refused memo is used", tc.name)
		}
	}
}

// TestForeignOwner needs root to give a file away.
func TestForeignOwner(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	dir := filled(t, 4)
	if err := os.Chown(filepath.Join(dir, secretName), 65534, 65534); err != nil {
		t.Skip(err)
	}
	if known(dir, 4) != 0 || open(t, dir).Refused() == nil {
		t.Error("the secret of another user is used")
	}
}

// TestTogether has several users of one directory at once, which create it together.
func TestTogether(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "memo")
	const users, each = 8, 200
	var wg sync.WaitGroup
	for u := range users {
		wg.Go(func() {
			m := open(t, dir)
			end := m.Batch()
			for i := range each {
				m.Add(Signature, digest(u*each+i))
				m.Known(Signature, digest(i))
			}
			end()
		})
	}
	wg.Wait()
	if invented(dir) > 0 {
		t.Error("facts appeared")
	}
	// Two writers of one page lose the facts of one of them, never the memo.
	if n := known(dir, users*each); n < each/2 {
		t.Errorf("%d of %d facts are known", n, users*each)
	}
}

// FuzzTable reads arbitrary tables and writes into them.
func FuzzTable(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, bucketSize))
	f.Add(make([]byte, pageSize+1))
	dir := filled(f, 1)
	good, err := os.ReadFile(filepath.Join(dir, tableName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[:2*pageSize])
	f.Fuzz(func(t *testing.T, table []byte) {
		path := filepath.Join(dir, tableName)
		if err := os.WriteFile(path, table, 0o600); err != nil {
			t.Fatal(err)
		}
		if n := invented(dir); n > 0 {
			t.Fatalf("%d invented facts are known", n)
		}
		open(t, dir).Add(Signature, digest(3))
		if !open(t, dir).Known(Signature, digest(3)) {
			t.Error("an added fact is not known")
		}
	})
}

// BenchmarkFirstLookup is what a process pays that asks once: it opens the memo too.
func BenchmarkFirstLookup(b *testing.B) {
	dir := filled(b, 1000)
	for b.Loop() {
		m := New(dir)
		if !m.Known(Signature, digest(7)) {
			b.Fatal("not known")
		}
		m.Close()
	}
}

func BenchmarkLookup(b *testing.B) {
	m := open(b, filled(b, 1000))
	for b.Loop() {
		if !m.Known(Signature, digest(7)) {
			b.Fatal("not known")
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	m := open(b, filled(b, 1))
	for i := range b.N {
		m.Add(Signature, digest(i))
	}
}
