package git

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

	"github.com/go-git/go-git/v5/plumbing/format/idxfile"

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
	for i := range 30 {
		text[random.IntN(len(text))] = fmt.Sprintf("changed %x\n", random.Uint64())
		c := r.Commit(sourcetest.File{Path: "a.txt", Data: strings.Join(text, "")}, sourcetest.File{Path: ".ai/b", Data: text[0]})
		if i%10 == 0 {
			r.Tag(fmt.Sprintf("v%d", i), c)
		}
	}
	r.Git("", "repack", "-q", "-a", "-d", "-f", "--depth=40", "--window=20")
	return r, strings.Split(r.Git("", "cat-file", "--batch-all-objects", "--batch-check"), "\n")
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

// stored writes a pack and its index into a new repository.
func stored(t *testing.T, pack []byte, index *idxfile.MemoryIndex) *objects {
	t.Helper()
	dir := t.TempDir()
	at := filepath.Join(dir, "objects", "pack")
	f, err := os.Create(filepath.Join(dir, "pack"))
	if err == nil {
		_, err = f.Write(pack)
	}
	if err = errors.Join(err, os.MkdirAll(at, 0o700), keepPack(at, f, index)); err != nil {
		t.Fatal(err)
	}
	objs := openObjects(dir)
	t.Cleanup(func() { objs.Close() })
	return objs
}

// The index of this package names the objects that git names, with either way to name the
// base of a delta, and the objects are read.
func TestIndexAsGit(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a history with many git processes")
	}
	r, lines := repository(t)
	for name, args := range map[string][]string{"offsets": {"--delta-base-offset"}, "names": nil, "whole": {"--depth=0"}} {
		t.Run(name, func(t *testing.T) {
			b := packOf(t, r, args...)
			index, err := indexPack(t.Context(), bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			if n, err := index.Count(); err != nil || n != int64(len(lines)) {
				t.Errorf("%d objects, want %d, %v", n, len(lines), err)
			}
			var idx bytes.Buffer
			if _, err := idxfile.NewEncoder(&idx).Encode(index); err != nil {
				t.Fatal(err)
			}
			objs := stored(t, b, index)
			for _, line := range lines {
				words := strings.Fields(line)
				o, err := objs.one(words[0], 1<<20)
				if err != nil || o.Kind != words[1] || sourcetest.ObjectName(o.Kind, o.Data) != words[0] {
					t.Fatalf("%s: %s of %d bytes, %v", line, o.Kind, len(o.Data), err)
				}
			}
			c := exec.Command("git", "show-index")
			c.Stdin = &idx
			if out, err := c.Output(); err != nil || bytes.Count(out, []byte("\n")) != len(lines) {
				t.Errorf("git show-index: %v, %d lines", err, bytes.Count(out, []byte("\n")))
			}
		})
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
		"count of few": {made(func(p *sourcetest.Pack) { p.Start(1000); p.Object(sourcetest.TypeBlob, nil) }), "damaged"},
		"fewer":        {made(func(p *sourcetest.Pack) { p.Start(2); p.Object(sourcetest.TypeBlob, []byte(long)); p.Raw(nil) }), "damaged"},
		"more":         {made(func(p *sourcetest.Pack) { p.Start(1); p.Object(3, nil); p.Object(3, []byte(long)) }), "checksum mismatch"},
		"bytes after":  {append(made(func(p *sourcetest.Pack) { p.Start(0) }), 'x'), "bytes follow"},
		"checksum":     {append(made(func(p *sourcetest.Pack) { p.Start(0) })[:31], 'x'), "checksum"},
		"short size":   {made(func(p *sourcetest.Pack) { p.Start(1); p.Head(3, 5); p.Zeros(1, nil) }), "exceeds declared size"},
		"long size":    {made(func(p *sourcetest.Pack) { p.Start(1); p.Head(3, 5<<20); p.Zeros(1, nil) }), "its header states"},
		"other base":   {one(deltaOf(99, 10, sourcetest.Copy(10)...)), "invalid delta"},
		"other result": {one(deltaOf(100, 11, sourcetest.Copy(10)...)), "invalid delta"},
		"beyond":       {one(deltaOf(100, 500, sourcetest.Copy(500)...)), "invalid delta"},
		"too much":     {one(deltaOf(100, 5, sourcetest.Copy(10)...)), "invalid delta"},
		"instruction":  {one(deltaOf(100, 5, 0)), "wrong delta command"},
		"cut off":      {one(deltaOf(100, 5, 5, 'a')), "invalid delta"},
		"no base": {made(func(p *sourcetest.Pack) {
			p.Start(1)
			p.Head(sourcetest.TypeRef, 4)
			p.Raw(make([]byte, 20))
			p.Zeros(1, nil)
		}), "damaged"},
		"itself": {made(func(p *sourcetest.Pack) { p.Start(1); p.Delta(12, deltaOf(1, 1, 1, 'x')) }), "invalid OFS delta"},
		"type":   {made(func(p *sourcetest.Pack) { p.Start(1); p.Object(5, []byte(long)) }), "type 5"},
		"depth": {made(func(p *sourcetest.Pack) {
			p.Start(maxDepth + 2)
			at := p.Object(3, []byte("x"))
			for range maxDepth + 1 {
				at = p.Delta(at, deltaOf(1, 1, sourcetest.Copy(1)...))
			}
		}), "deltas depend on each other"},
	}
}

func isBeyond(err error) bool {
	var limit *beyondError
	return errors.As(err, &limit)
}

func TestHostilePacks(t *testing.T) {
	all := hostilePacks()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b := all[name].pack
		_, err := indexPack(t.Context(), bytes.NewReader(b), int64(len(b)))
		switch want := all[name].want; {
		case want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", name, err, want)
		case want != "" && !errors.Is(err, errDamaged) && !isBeyond(err):
			t.Errorf("%s: %v has no type", name, err)
		}
	}
}

// More objects than a pack may have are refused by its header, before it is stored.
func TestCount(t *testing.T) {
	head := made(func(p *sourcetest.Pack) { p.Start(maxObjects) })[:packHead]
	if err := checkHead(head); err != nil {
		t.Error(err)
	}
	head = made(func(p *sourcetest.Pack) { p.Start(maxObjects + 1) })[:packHead]
	if err := checkHead(head); !isBeyond(err) || !strings.Contains(err.Error(), "states 1048577 objects, at most 1048576") {
		t.Errorf("one more: %v", err)
	}
	if err := checkHead([]byte("<html></html>")); !errors.Is(err, errDamaged) {
		t.Errorf("no pack: %v", err)
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
			if _, err := indexPack(t.Context(), bytes.NewReader(b), int64(len(b))); err == nil {
				t.Errorf("byte %d of %d is not needed", i, len(good))
			}
		}
	}
}

// The work of a pack is limited, and it ends with the context.
func TestWork(t *testing.T) {
	b := made(func(p *sourcetest.Pack) {
		p.Start(2)
		at := p.Head(sourcetest.TypeBlob, 8<<20)
		p.Zeros(8, nil)
		p.Delta(at, append(sourcetest.DeltaHead(8<<20, 1), sourcetest.Copy(1)...))
	})
	if _, err := indexWithin(t.Context(), bytes.NewReader(b), int64(len(b)), 8<<20-1); !isBeyond(err) {
		t.Errorf("scanning: %v", err)
	}
	if _, err := indexWithin(t.Context(), bytes.NewReader(b), int64(len(b)), 9<<20); !isBeyond(err) {
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
	if _, err := indexWithin(t.Context(), bytes.NewReader(b), int64(len(b)), (chain+3)*mib<<20); err != nil {
		t.Errorf("a chain: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := indexPack(ctx, bytes.NewReader(b), int64(len(b))); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// FuzzIndex indexes packs of any bytes: it never panics, and every object that it names has
// that name when it is read.
func FuzzIndex(f *testing.F) {
	for _, tc := range hostilePacks() {
		if len(tc.pack) < 4096 {
			f.Add(tc.pack)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := bytes.Clone(data)
		if len(b) > packHead+sha1.Size { // the fuzzer does not find checksums
			sum := sha1.Sum(b[:len(b)-sha1.Size]) //nolint:gosec // as git does
			copy(b[len(b)-sha1.Size:], sum[:])
		}
		index, err := indexWithin(t.Context(), bytes.NewReader(b), int64(len(b)), 8<<20)
		if err != nil {
			return
		}
		objs := stored(t, b, index)
		all, err := index.Entries()
		for err == nil {
			var e *idxfile.Entry
			if e, err = all.Next(); err != nil {
				break
			}
			o, err := objs.one(e.Hash.String(), 1<<20)
			if err == nil && sourcetest.ObjectName(o.Kind, o.Data) != e.Hash.String() {
				t.Fatalf("object %s: %s of %d bytes", e.Hash, o.Kind, len(o.Data))
			}
		}
	})
}
