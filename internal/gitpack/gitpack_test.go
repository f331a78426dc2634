package gitpack

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // the names of git's objects
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/testing/sourcetest"
)

// repository returns a repository with a history that git stores as deltas, and the
// names of its objects with their kinds and sizes.
func repository(t *testing.T, format ...string) (*sourcetest.Repo, []string) {
	t.Helper()
	r := sourcetest.NewRepo(t, filepath.Join(t.TempDir(), "r.git"), format...)
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]string, 400)
	for i := range text {
		text[i] = fmt.Sprintf("line %d %x\n", i, random.Uint64())
	}
	for range 30 {
		text[random.IntN(len(text))] = fmt.Sprintf("changed %x\n", random.Uint64())
		c := r.Commit(sourcetest.File{Path: "a.txt", Data: strings.Join(text, "")}, sourcetest.File{Path: ".ai/b", Data: text[0]})
		r.Tag(fmt.Sprintf("v%x", random.Uint32()), c)
	}
	r.Git("", "repack", "-q", "-a", "-d", "-f", "--depth=40", "--window=20")
	return r, strings.Split(r.Git("", "cat-file", "--batch-all-objects", "--batch-check"), "\n")
}

// compare fails unless a store has all objects as git has them.
func compare(t *testing.T, s *Store, sha256 bool, objects []string) {
	t.Helper()
	for _, line := range objects {
		words := strings.Fields(line)
		kind, data, err := s.Read(words[0], 1<<20)
		if err != nil || kind.String() != words[1] || fmt.Sprint(len(data)) != words[2] {
			t.Fatalf("%s: %s of %d bytes, %v", line, kind, len(data), err)
		}
		if !sha256 && sourcetest.ObjectName(words[1], data) != words[0] {
			t.Errorf("%s: other bytes", line)
		}
	}
}

func packOf(t *testing.T, r *sourcetest.Repo, args ...string) []byte {
	t.Helper()
	c := exec.Command("git", append([]string{"-C", r.Dir, "pack-objects", "--all", "--stdout", "-q"}, args...)...)
	c.Env = sourcetest.Environ()
	b, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The index of this package and that of git name the same objects, with either way to
// name the base of a delta, and the objects are read from both.
func TestIndexAsGit(t *testing.T) {
	r, objects := repository(t)
	compare(t, Open(false, filepath.Join(r.Dir, "objects")), false, objects)
	for name, args := range map[string][]string{"offsets": {"--delta-base-offset"}, "names": nil, "whole": {"--depth=0"}} {
		t.Run(name, func(t *testing.T) {
			b := packOf(t, r, args...)
			tab, err := Index(t.Context(), bytes.NewReader(b), int64(len(b)))
			if err != nil || tab.Skipped() != 0 || len(tab.entries) != len(objects) {
				t.Fatalf("%v, %d objects, want %d", err, len(tab.entries), len(objects))
			}
			var idx bytes.Buffer
			if err := tab.WriteIndex(&idx); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "pack")
			os.Mkdir(dir, 0o700)
			for ext, data := range map[string][]byte{"idx": idx.Bytes(), "pack": b} {
				if err := os.WriteFile(filepath.Join(dir, "pack-"+tab.Sum+"."+ext), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := Open(false, filepath.Dir(dir))
			defer s.Close()
			compare(t, s, false, objects)
			// Git itself reads the index, but for its checksums of single objects.
			c := exec.Command("git", "show-index")
			c.Stdin = &idx
			if out, err := c.Output(); err != nil || bytes.Count(out, []byte("\n")) != len(objects) {
				t.Errorf("git show-index: %v, %d lines", err, bytes.Count(out, []byte("\n")))
			}
		})
	}
}

// Loose objects, names of SHA-256, objects that are missing or too large.
func TestStore(t *testing.T) {
	r, objects := repository(t, sourcetest.SHA256)
	compare(t, Open(true, filepath.Join(r.Dir, "objects")), true, objects)
	r = sourcetest.NewRepo(t, filepath.Join(t.TempDir(), "loose.git"))
	oid := r.Git(strings.Repeat("x", 5000), "hash-object", "-w", "--stdin")
	s := Open(false, filepath.Join(r.Dir, "objects"))
	if kind, data, err := s.Read(oid, 5000); err != nil || kind != Blob || len(data) != 5000 {
		t.Errorf("%s, %d bytes, %v", kind, len(data), err)
	}
	if _, _, err := s.Read(oid, 4999); !errors.Is(err, ErrLimit) {
		t.Errorf("limit: %v", err)
	}
	if _, _, err := s.Read(strings.Repeat("1", 40), 10); !errors.Is(err, ErrMissing) {
		t.Errorf("missing: %v", err)
	}
	if _, _, err := s.Read(strings.Repeat("1", 64), 10); !errors.Is(err, ErrFormat) {
		t.Errorf("format: %v", err)
	}
	if has, err := s.Has(oid); err != nil || !has {
		t.Errorf("has: %v, %v", has, err)
	}
}

// made returns a pack.
func made(fn func(p *sourcetest.Pack)) []byte {
	var b bytes.Buffer
	p := sourcetest.NewPack(&b)
	fn(p)
	p.End()
	return b.Bytes()
}

// hostilePacks are packs with the part of the error that each must give, "" for none.
func hostilePacks() map[string]struct {
	pack []byte
	want string
} {
	long := strings.Repeat("x", 100)
	deltaOf := func(base, result int64, ops ...byte) []byte {
		return append(sourcetest.DeltaHead(base, result), ops...)
	}
	one := func(delta []byte) []byte {
		return made(func(p *sourcetest.Pack) {
			p.Start(2)
			p.Delta(p.Object(sourcetest.TypeBlob, []byte(long)), delta)
		})
	}
	return map[string]struct {
		pack []byte
		want string
	}{
		"empty":        {made(func(p *sourcetest.Pack) { p.Start(0) }), ""},
		"one":          {made(func(p *sourcetest.Pack) { p.Start(1); p.Object(sourcetest.TypeBlob, []byte(long)) }), ""},
		"delta":        {one(deltaOf(100, 10, sourcetest.Copy(10)...)), ""},
		"count":        {made(func(p *sourcetest.Pack) { p.Start(0xffffffff) }), "at most 1048576"},
		"count of few": {made(func(p *sourcetest.Pack) { p.Start(1000); p.Object(sourcetest.TypeBlob, nil) }), "cannot contain"},
		"fewer":        {made(func(p *sourcetest.Pack) { p.Start(2); p.Object(sourcetest.TypeBlob, []byte(long)); p.Raw(nil) }), "damaged"},
		"more":         {made(func(p *sourcetest.Pack) { p.Start(1); p.Object(3, nil); p.Object(3, []byte(long)) }), "bytes follow"},
		"checksum":     {append(made(func(p *sourcetest.Pack) { p.Start(0) })[:31], 'x'), "checksum"},
		"short size":   {made(func(p *sourcetest.Pack) { p.Start(1); p.Head(3, 5); p.Zeros(1, nil) }), "more than the 5 bytes"},
		"long size":    {made(func(p *sourcetest.Pack) { p.Start(1); p.Head(3, 5<<20); p.Zeros(1, nil) }), "its header states"},
		"other base":   {one(deltaOf(99, 10, sourcetest.Copy(10)...)), "for a base of 99 bytes"},
		"other result": {one(deltaOf(100, 11, sourcetest.Copy(10)...)), "makes 10 bytes"},
		"beyond":       {one(deltaOf(100, 500, sourcetest.Copy(500)...)), "does not have"},
		"too much":     {one(deltaOf(100, 5, sourcetest.Copy(10)...)), "more than 5 bytes"},
		"instruction":  {one(deltaOf(100, 5, 0)), "unknown instruction"},
		"cut off":      {one(deltaOf(100, 5, 5, 'a')), "too early"},
		"no base": {made(func(p *sourcetest.Pack) {
			p.Start(1)
			p.Head(sourcetest.TypeRef, 4)
			p.Raw(make([]byte, 20))
			p.Zeros(1, nil)
		}), "damaged"},
		"itself": {made(func(p *sourcetest.Pack) { p.Start(1); p.Delta(12, deltaOf(1, 1, 1, 'x')) }), "changes no object"},
		"type":   {made(func(p *sourcetest.Pack) { p.Start(1); p.Object(5, []byte(long)) }), "type 5"},
		"depth": {made(func(p *sourcetest.Pack) {
			p.Start(MaxDepth + 2)
			at := p.Object(3, []byte("x"))
			for range MaxDepth + 1 {
				at = p.Delta(at, deltaOf(1, 1, sourcetest.Copy(1)...))
			}
		}), "deltas depend on each other"},
	}
}

func TestHostilePacks(t *testing.T) {
	all := hostilePacks()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b := all[name].pack
		_, err := Index(t.Context(), bytes.NewReader(b), int64(len(b)))
		switch want := all[name].want; {
		case want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", name, err, want)
		case want != "" && !errors.Is(err, ErrBroken) && !errors.Is(err, ErrLimit):
			t.Errorf("%s: %v has no type", name, err)
		}
	}
}

// Every cut and every changed byte of a pack is an error or gives the same objects.
func TestDamagedPack(t *testing.T) {
	good := made(func(p *sourcetest.Pack) {
		p.Start(3)
		at := p.Object(sourcetest.TypeBlob, []byte(strings.Repeat("abc", 30)))
		p.Delta(at, append(sourcetest.DeltaHead(90, 10), sourcetest.Copy(10)...))
		p.Object(sourcetest.TypeTree, nil)
	})
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x41
		for _, b := range [][]byte{good[:i], bad} {
			if _, err := Index(t.Context(), bytes.NewReader(b), int64(len(b))); err == nil {
				t.Errorf("byte %d of %d is not needed", i, len(good))
			}
		}
	}
}

// Objects above the limit are named if they are whole; their deltas are left out, and a
// search for those want so.
func TestLargeObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("packs large objects")
	}
	const mib = 70
	b := made(func(p *sourcetest.Pack) {
		p.Start(3)
		at := p.Head(sourcetest.TypeBlob, mib<<20)
		p.Zeros(mib, nil)
		p.Delta(at, append(sourcetest.DeltaHead(mib<<20, 10), sourcetest.Copy(10)...))
		p.Object(sourcetest.TypeTree, nil)
	})
	tab, err := Index(t.Context(), bytes.NewReader(b), int64(len(b)))
	if err != nil || tab.Skipped() != 1 || len(tab.entries) != 2 {
		t.Fatalf("%v, %+v", err, tab)
	}
	dir := filepath.Join(t.TempDir(), "pack")
	os.Mkdir(dir, 0o700)
	var idx bytes.Buffer
	tab.WriteIndex(&idx)
	for ext, data := range map[string][]byte{".idx": idx.Bytes(), ".pack": b, Large: nil} {
		os.WriteFile(filepath.Join(dir, "pack-x"+ext), data, 0o600)
	}
	s := Open(false, filepath.Dir(dir))
	defer s.Close()
	for _, oid := range []string{sourcetest.ObjectName("blob", make([]byte, mib<<20)), sourcetest.ObjectName("blob", make([]byte, 10))} {
		if _, _, err := s.Read(oid, 64<<20); !errors.Is(err, ErrLimit) {
			t.Errorf("%s: %v", oid, err)
		}
	}
}

// The work of a pack is limited, and its end is that of the context.
func TestWork(t *testing.T) {
	b := made(func(p *sourcetest.Pack) {
		p.Start(2)
		at := p.Head(sourcetest.TypeBlob, 8<<20)
		p.Zeros(8, nil)
		p.Delta(at, append(sourcetest.DeltaHead(8<<20, 1), sourcetest.Copy(1)...))
	})
	if _, err := indexWithin(t.Context(), bytes.NewReader(b), int64(len(b)), &work{8<<20 - 1}); !errors.Is(err, ErrLimit) {
		t.Errorf("scanning: %v", err)
	}
	if _, err := indexWithin(t.Context(), bytes.NewReader(b), int64(len(b)), &work{9 << 20}); !errors.Is(err, ErrLimit) {
		t.Errorf("resolving: %v", err)
	}
	const chain, mib = 20, 4
	b = made(func(p *sourcetest.Pack) { // each delta is applied once
		p.Start(chain + 1)
		at := p.Head(sourcetest.TypeBlob, mib<<20)
		p.Zeros(mib, nil)
		for range chain {
			at = p.Delta(at, append(sourcetest.DeltaHead(mib<<20, mib<<20), sourcetest.Copy(mib<<20)...))
		}
	})
	if _, err := indexWithin(t.Context(), bytes.NewReader(b), int64(len(b)), &work{(chain + 3) * mib << 20}); err != nil {
		t.Errorf("a chain: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Index(ctx, bytes.NewReader(b), int64(len(b))); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// FuzzIndex indexes packs of any bytes: it allocates within limits, never panics, and
// every object that it names has that name when it is read.
func FuzzIndex(f *testing.F) {
	for _, tc := range hostilePacks() {
		if len(tc.pack) < 4096 {
			f.Add(tc.pack)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := bytes.Clone(data)
		if len(b) > 12+nameSize { // the fuzzer does not find checksums
			sum := sha1.Sum(b[:len(b)-nameSize]) //nolint:gosec // as git does
			copy(b[len(b)-nameSize:], sum[:])
		}
		tab, err := indexWithin(t.Context(), bytes.NewReader(b), int64(len(b)), &work{8 << 20})
		if err != nil {
			return
		}
		var idx bytes.Buffer
		if err := tab.WriteIndex(&idx); err != nil {
			t.Fatal(err)
		}
		x, err := openIndex(bytes.NewReader(idx.Bytes()), int64(idx.Len()), nameSize)
		if err != nil {
			t.Fatal(err)
		}
		p := newPack(bytes.NewReader(b), int64(len(b)-nameSize), nameSize, &work{64 << 20})
		p.baseOf = func(_ int64, id string) (int64, error) {
			off, ok, err := x.find(id)
			if err == nil && !ok {
				err = ErrBroken
			}
			return off, err
		}
		for _, e := range tab.entries {
			off, ok, err := x.find(string(e.name[:]))
			if err != nil || !ok {
				t.Fatalf("object %x is not in the index: %v", e.name, err)
			}
			kind, data, err := p.object(off, 1<<20)
			if errors.Is(err, ErrLimit) {
				return
			}
			if err != nil || sourcetest.ObjectName(kind.String(), data) != fmt.Sprintf("%x", e.name) {
				t.Fatalf("object %x: %s, %v", e.name, kind, err)
			}
		}
	})
}

// FuzzStore reads objects with an index of any bytes, as a local repository can have.
func FuzzStore(f *testing.F) {
	b := hostilePacks()["delta"].pack
	tab, err := Index(f.Context(), bytes.NewReader(b), int64(len(b)))
	if err != nil {
		f.Fatal(err)
	}
	var idx bytes.Buffer
	tab.WriteIndex(&idx)
	f.Add(idx.Bytes(), b, tab.entries[0].name[:])
	f.Add([]byte(idxMagic), []byte("PACK"), make([]byte, nameSize))
	f.Fuzz(func(t *testing.T, idx, b, id []byte) {
		x, err := openIndex(bytes.NewReader(idx), int64(len(idx)), nameSize)
		if err != nil || len(id) != nameSize {
			return
		}
		off, ok, err := x.find(string(id))
		if err != nil || !ok {
			return
		}
		p := newPack(bytes.NewReader(b), int64(len(b)), nameSize, &work{8 << 20})
		p.baseOf = func(_ int64, id string) (int64, error) {
			off, ok, err := x.find(id)
			if err == nil && !ok {
				err = ErrBroken
			}
			return off, err
		}
		if _, data, err := p.object(off, 1<<20); err == nil && len(data) > 1<<20 {
			t.Errorf("%d bytes", len(data))
		}
	})
}
