package search

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// files lists the index in the cache.
func (k *kit) files() (out []string) {
	err := filepath.WalkDir(k.Cache, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "lock" {
			out = append(out, p)
		}
		return err
	})
	if err != nil {
		k.T.Fatal(err)
	}
	return out
}

// Whatever happens to the index in the cache, the answer is right, and the
// index is whole again afterwards.
func TestDamagedCache(t *testing.T) {
	if testing.Short() {
		t.Skip("writes an index for each damage")
	}
	t.Parallel()
	k := settledKit(t, 30)
	k.reads(k.index(false), "zebras")
	for name, damage := range map[string]func(path string) error{
		"removed": os.Remove,
		"empty":   func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"short":   func(p string) error { return os.Truncate(p, 9) },
		"cut":     func(p string) error { fi, _ := os.Stat(p); return os.Truncate(p, fi.Size()-1) },
		"long":    func(p string) error { b, _ := os.ReadFile(p); return os.WriteFile(p, append(b, 0), 0o600) },
		"flipped": func(p string) error {
			b, _ := os.ReadFile(p)
			if len(b) > 0 {
				b[len(b)/2] ^= 4
			}
			return os.WriteFile(p, b, 0o600)
		},
		"noise":     func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("noise ", 5000)), 0o600) },
		"folder":    func(p string) error { _ = os.Remove(p); return os.MkdirAll(filepath.Join(p, "x"), 0o700) },
		"exchanged": func(p string) error { return os.WriteFile(p, []byte(segmentMagic+stateMagic), 0o600) },
	} {
		for _, path := range k.files() {
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			if _, res := k.reads(k.index(false), "zebras"); res.Total != 30 {
				t.Errorf("%s %s: %d hits", name, filepath.Base(path), res.Total)
			}
			if name == "folder" {
				_ = os.RemoveAll(path)
			}
			k.reads(k.index(false), "zebras")
			if n, res := k.reads(k.index(false), "zebras"); n != 0 || res.Total != 30 {
				t.Errorf("%s %s, afterwards: %d reads, %d hits", name, filepath.Base(path), n, res.Total)
			}
		}
	}
	if err := os.RemoveAll(k.Cache); err != nil {
		t.Fatal(err)
	}
	if _, res := k.reads(k.index(false), "zebras"); res.Total != 30 {
		t.Error("without a cache")
	}
}

// A search succeeds if the cache cannot be written.
func TestNoCache(t *testing.T) {
	t.Parallel()
	k := settledKit(t, 3)
	file := filepath.Join(k.Dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", file, filepath.Join(file, "x")} {
		k.p.CacheDir = dir
		x := k.index(false)
		if _, res := k.reads(x, "zebras"); res.Total != 3 {
			t.Errorf("%q: %d hits", dir, res.Total)
		}
		if n, res := k.reads(x, "zebras"); n != 0 || res.Total != 3 {
			t.Errorf("%q: %d reads, %d hits", dir, n, res.Total)
		}
	}
}

// Many small changes leave few segments, and nothing of what is gone.
func TestMerge(t *testing.T) {
	t.Parallel()
	k := settledKit(t, 64)
	x := k.index(false)
	k.reads(x, "zebras")
	for i := range 40 {
		n := i % 10
		if i >= 20 {
			n = 100 + i // a new one
		}
		k.Write(k.Project, fmt.Sprintf("tools/many/item_%04d.yaml", n), tool(fmt.Sprintf("Zebras, %d and %s.", i, strings.Repeat("x", i)), ""))
		if _, res := k.reads(x, fmt.Sprintf("zebras %d", i)); res.Total == 0 {
			t.Fatalf("round %d", i)
		}
	}
	for _, known := range x.mem.roots {
		docs := 0
		for _, s := range known.rootIndex.segs {
			docs += s.docs
		}
		if len(known.rootIndex.segs) > 8 || docs > 2*64 {
			t.Errorf("%d segments with %d documents", len(known.rootIndex.segs), docs)
		}
	}
	if x.mem.view.broken() {
		t.Error("a merged segment is damaged")
	}
	segs := 0
	for _, f := range k.files() {
		if strings.HasSuffix(f, ".seg") {
			segs++
		}
	}
	if segs > 9 { // with that of the system space
		t.Errorf("%d segments in the cache", segs)
	}
}
