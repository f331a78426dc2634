package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// reads returns how many files a search reads, the answer included.
func (k *kit) reads(x *Index, text string) (int64, *Result) {
	k.T.Helper()
	before := int64(0)
	if x.mem.fields != nil {
		before = x.mem.fields.reads.Load()
	}
	res, err := x.Search(k.T.Context(), Query{Text: text, Limit: 50})
	if err != nil {
		k.T.Fatal(err)
	}
	return x.mem.fields.reads.Load() - before, res
}

// settledKit has n tools, and a clock so late that stamps are believed.
func settledKit(t testing.TB, n int) *kit {
	k := newKit(t)
	k.p.Now = func() time.Time { return time.Now().Add(time.Hour) }
	for i := range n {
		k.Write(k.Project, fmt.Sprintf("tools/many/item_%04d.yaml", i), tool(fmt.Sprintf("Number %d of the zebras.", i), ""))
	}
	return k
}

// A file is read once; an edit, and only that, is seen by the next query.
func TestEditIsSeen(t *testing.T) {
	t.Parallel()
	k := settledKit(t, 40)
	first, res := k.reads(k.index(false), "zebras")
	if first < 40 || res.Total != 40 {
		t.Fatalf("%d reads, %d hits", first, res.Total)
	}
	stays := k.index(false)
	step := func(name string, reads int64, text string, total int) {
		t.Helper()
		for who, x := range map[string]*Index{"stays": stays, "comes": k.index(false)} {
			if n, res := k.reads(x, text); res.Total != total || who == "stays" && n != reads || n > reads {
				t.Errorf("%s, %s: %d reads, %d hits, want %d and %d", name, who, n, res.Total, reads, total)
			}
		}
	}
	tick := func() { time.Sleep(25 * time.Millisecond) } // the clock of a file system may be slow
	step("nothing", 0, "zebras", 40)
	tick()
	k.Write(k.Project, "tools/many/item_0007.yaml", tool("A giraffe.", ""))
	step("edit", 1, "giraffe", 1)
	step("after it", 0, "zebras", 39)
	tick()
	file := k.Write(k.Project, "tools/many/item_0007.yaml", tool("A giraffo.", ""))
	step("edit of the same length", 1, "giraffo", 1)
	old := time.Now().Add(-time.Hour)
	tick()
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	step("touch", 1, "giraffo", 1)
	step("after the touch", 0, "giraffo", 1)
	tick()
	k.Write(k.Project, "tools/many/new.yaml", tool("An okapi.", ""))
	step("new", 1, "okapi", 1)
	if err := os.Rename(file, filepath.Join(filepath.Dir(file), "renamed.yaml")); err != nil {
		t.Fatal(err)
	}
	step("renamed", 1, "giraffo name:renamed", 1)
	if err := os.RemoveAll(filepath.Join(k.Project, ".ai/tools/many")); err != nil {
		t.Fatal(err)
	}
	step("removed", 0, "zebras", 0)
	step("empty", 0, "space:project", 0)
}

// A file whose stamp is so young that the next change may not show is read
// again, until it is old; one with a future stamp always.
func TestRacyStamps(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.Write(k.Project, "tools/many/a.yaml", tool("A zebra.", ""))
	clock := time.Now()
	k.p.Now = func() time.Time { return clock }
	x := k.index(false)
	k.reads(x, "zebra")
	for _, c := range []struct {
		after time.Duration
		reads int64
	}{{0, 1}, {time.Second, 1}, {time.Minute, 1}, {2 * time.Minute, 0}, {3 * time.Minute, 0}} {
		clock = clock.Add(c.after)
		if n, res := k.reads(x, "zebra"); n != c.reads || res.Total != 1 {
			t.Errorf("after %s: %d reads, want %d", c.after, n, c.reads)
		}
	}
	future := time.Now().Add(100 * time.Hour)
	if err := os.Chtimes(filepath.Join(k.Project, ".ai/tools/many/a.yaml"), future, future); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if n, _ := k.reads(x, "zebra"); n != 1 {
			t.Errorf("a future stamp: %d reads", n)
		}
	}
}

// A file with an equal stamp is read again if its record requires it.
func TestStampThatLies(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		k := settledKit(t, 3)
		x := k.index(false)
		k.reads(x, "zebras")
		k.Write(k.Project, "tools/many/item_0001.yaml", tool("An okapi.", ""))
		for _, known := range x.mem.roots {
			for i := range known.rootIndex.records {
				r := &known.rootIndex.records[i]
				f := file{rel: r.rel}
				r.stamp, _ = stampOf(x.p.Resolver.Roots()[0], f)
				r.stale = again
			}
		}
		if _, res := k.reads(x, "okapi"); (res.Total == 1) != again {
			t.Errorf("again %v: %d hits", again, res.Total)
		}
	}
}

// Within Params.Fresh a server answers from memory.
func TestFresh(t *testing.T) {
	t.Parallel()
	k := settledKit(t, 3)
	clock := time.Now().Add(time.Hour)
	k.p.Now, k.p.Fresh = func() time.Time { return clock }, 250*time.Millisecond
	x := k.index(false)
	k.reads(x, "zebras")
	k.Write(k.Project, "tools/many/new.yaml", tool("An okapi.", ""))
	clock = clock.Add(249 * time.Millisecond)
	if n, res := k.reads(x, "okapi"); n != 0 || res.Total != 0 {
		t.Errorf("%d reads, %d hits", n, res.Total)
	}
	clock = clock.Add(time.Millisecond)
	if _, res := k.reads(x, "okapi"); res.Total != 1 {
		t.Errorf("%d hits", res.Total)
	}
	clock = clock.Add(-time.Hour) // after the clock was set back, the files are checked
	k.Write(k.Project, "tools/many/other.yaml", tool("A tapir.", ""))
	if _, res := k.reads(x, "tapir"); res.Total != 1 {
		t.Errorf("%d hits", res.Total)
	}
}

// Over keeps what is known and asks the other resolver about trust.
func TestOver(t *testing.T) {
	t.Parallel()
	k := settledKit(t, 3)
	x := k.index(false)
	k.reads(x, "zebras")
	y := x.Over(k.index(false).p.Resolver)
	if n, res := k.reads(y, "zebras"); n != 0 || res.Total != 3 {
		t.Errorf("%d reads, %d hits", n, res.Total)
	}
}

// An extractor that names other fields has other words indexed.
func TestOtherExtractor(t *testing.T) {
	t.Parallel()
	k := settledKit(t, 3)
	k.Put(k.Project, "tools/many/owl.yaml", tool("A bird.", "motto: strix\n"))
	if _, err := k.index(false).Search(t.Context(), Query{Text: "motto:strix"}); diag.CodeOf(err) != diag.Usage {
		t.Error(err)
	}
	rel := "tools/rye/core/extractors/tool/tool_extractor.yaml"
	b, err := k.System.Open(".ai/" + rel)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	text := make([]byte, 1<<16)
	n, _ := b.Read(text)
	_, body, _ := strings.Cut(string(text[:n]), "\n")
	k.Put(k.Project, rel, strings.Replace(body, "search_fields:\n", "search_fields:\n  motto: 9\n", 1))
	k.want("motto:strix", "tool:many/owl")
	// The same fields, from elsewhere.
	k.Put(k.Project, rel, strings.Replace(strings.Replace(body, "search_fields:\n", "search_fields:\n  motto: 9\n", 1), "  description: [", "  description: [motto, ", 1))
	k.want("description:strix", "tool:many/owl")
	// The items of one that is refused are left out: no other extractor reads them.
	k.Write(k.Project, rel, body)
	res, err := k.index(false).Search(t.Context(), Query{Text: "zebras"})
	if err != nil || res.Total != 0 || len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "kind tool") {
		t.Errorf("%+v, %v", res, err)
	}
}

// Many goroutines ask one index while files change.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	k := settledKit(t, 20)
	x := k.index(false)
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			for i := range 20 {
				res, err := x.Search(t.Context(), Query{Text: []string{"zebras", "zebr*", "zebras~1", "*"}[(i+g)%4] + " ns:many NOT name:extra", Limit: 50})
				if err != nil || res.Total != 20 || len(res.Hits) != 20 {
					t.Errorf("%+v, %v", res, err)
					return
				}
			}
		})
	}
	for i := range 30 {
		k.Write(k.Project, "tools/many/extra.yaml", tool(fmt.Sprintf("Zebras in round %d.", i), ""))
	}
	wg.Wait()
}

// The segment of a bundle is kept by its digest, and only when it is made of
// the very files of the bundle.
func TestFixed(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	x := k.index(false)
	if n, _ := k.reads(x, "bash"); n == 0 {
		t.Fatal("nothing was read")
	}
	if n, res := k.reads(k.index(false), "bash"); n != 0 || res.Total == 0 {
		t.Errorf("%d reads, %d hits", n, res.Total)
	}
	root := x.p.Resolver.Roots()[2]
	if fixedDigest(root) == (item.Digest{}) || fixedDigest(x.p.Resolver.Roots()[0]) != (item.Digest{}) {
		t.Error("what is fixed")
	}
	if _, sound, err := x.mem.fields.readFixed(t.Context(), root); !sound || err != nil {
		t.Errorf("the system space is not sound: %v", err)
	}
	k.System = changed{k.System}
	y := k.index(false)
	y.store.dir = t.TempDir()
	if _, sound, err := x.mem.fields.readFixed(t.Context(), y.p.Resolver.Roots()[2]); sound || err != nil {
		t.Errorf("a changed bundle is sound, %v", err)
	}
	if _, res := k.reads(y, "okapi"); res.Total != 1 || res.Hits[0].Trust != "HASH_MISMATCH" {
		t.Errorf("%+v", res)
	}
	if left, _ := os.ReadDir(y.store.dir); len(left) != 0 {
		t.Errorf("a changed bundle is kept: %v", left)
	}
}

// A directory that cannot be listed is a note, and the rest is searched; when it can
// be listed again, what was known of it is known still.
func TestUnlistable(t *testing.T) {
	t.Parallel()
	k := settledKit(t, 3)
	k.Write(k.Project, "directives/many/zoo.md", directive("zoo", "A zoo", "Zebras.", ""))
	k.reads(k.index(false), "zebras")
	folder := filepath.Join(k.Project, ".ai/directives")
	if err := os.Rename(folder, folder+"2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(folder+"2", folder); err != nil {
		t.Skip("no links here: ", err)
	}
	for _, scan := range []bool{false, true} {
		res, err := k.index(scan).Search(t.Context(), Query{Text: "zebras"})
		if err != nil || res.Total != 3 || len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "some directories of project cannot be listed") {
			t.Errorf("scan %v: %+v, %v", scan, res, err)
		}
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(folder+"2", folder); err != nil {
		t.Fatal(err)
	}
	if n, res := k.reads(k.index(false), "zebras"); n != 0 || res.Total != 4 || res.Warnings != nil {
		t.Errorf("%d reads, %d hits, %q", n, res.Total, res.Warnings)
	}
}

// A search that is given up gives no answer and spoils no index.
func TestCancelled(t *testing.T) {
	t.Parallel()
	items, tries := 200, 40
	if testing.Short() {
		items, tries = 50, 8
	}
	k := settledKit(t, items)
	k.reads(k.index(false), "zebras")
	for i := range tries {
		ctx, cancel := context.WithCancel(t.Context())
		x := k.index(false)
		if i%2 == 0 { // after a while, for the extractors are read first
			time.AfterFunc(time.Duration(i)*300*time.Microsecond, cancel)
		} else if _, err := x.p.Resolver.Table(ctx); err != nil {
			t.Fatal(err)
		} else {
			cancel()
		}
		res, err := x.Search(ctx, Query{Text: "zebras"})
		if err == nil && (res.Total != items || i%2 == 1) || err != nil && res != nil {
			t.Fatalf("%+v, %v", res, err)
		}
		cancel()
		if n, res := k.reads(k.index(false), "zebras"); n != 0 || res.Total != items {
			t.Fatalf("afterwards: %d reads, %d hits", n, res.Total)
		}
	}
}

// What cannot be read is tried again for each query and written down once.
func TestUnreadableAgain(t *testing.T) {
	t.Parallel()
	k := settledKit(t, 2)
	link := filepath.Join(k.Project, ".ai/tools/many/link.yaml")
	if err := os.Symlink("item_0000.yaml", link); err != nil {
		t.Skip("no links here: ", err)
	}
	x := k.index(false)
	_, res := k.reads(x, "name:link")
	state := func() (out []*rootIndex) {
		for _, known := range x.mem.roots {
			out = append(out, known.rootIndex)
		}
		return out
	}
	before := state()
	for range 3 {
		if n, again := k.reads(x, "name:link"); n != 1 || show(again, nil) != show(res, nil) || again.Hits[0].Trust != string(diag.PathEscape) {
			t.Errorf("%d reads: %+v", n, again)
		}
	}
	slices.SortFunc(before, func(a, b *rootIndex) int { return len(a.records) - len(b.records) })
	after := state()
	slices.SortFunc(after, func(a, b *rootIndex) int { return len(a.records) - len(b.records) })
	if !slices.Equal(before, after) {
		t.Error("the index was written again")
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	k.Write(k.Project, "tools/many/link.yaml", tool("A zebra at last.", ""))
	if _, res := k.reads(x, "+name:link zebra"); res.Total != 1 || res.Hits[0].Trust != string(diag.Unsigned) {
		t.Errorf("%+v", res)
	}
}
