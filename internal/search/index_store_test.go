package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// A segment whose checksum holds and whose content makes no sense is noticed,
// and the answer is read from the items.
func TestSealedNonsense(t *testing.T) {
	t.Parallel()
	k := settledKit(t, 30)
	k.reads(k.index(false), "zebras")
	for _, path := range k.files() {
		b, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(b), segmentMagic) {
			continue
		}
		for i := range 400 { // the postings of the last words
			b[len(b)-1-i] = 0xff
		}
		if err := os.WriteFile(path, sealed(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x := k.index(false)
	for i := range 3 {
		if n, res := k.reads(x, "zebras"); res.Total != 30 || i == 2 && n != 0 {
			t.Errorf("query %d: %d reads, %d hits", i, n, res.Total)
		}
	}
	if n, res := k.reads(k.index(false), "zebras"); n != 0 || res.Total != 30 {
		t.Errorf("%d reads, %d hits in the next process", n, res.Total)
	}
}

// A writer that finds the lock held does not wait and writes nothing; the
// answer is as right, and the next writer makes up for it.
func TestBusyWriter(t *testing.T) {
	t.Parallel()
	k := settledKit(t, 5)
	k.reads(k.index(false), "zebras")
	k.Write(k.Project, "tools/many/new.yaml", tool("An okapi.", ""))
	var held []*filelock.Lock
	locks, err := filepath.Glob(filepath.Join(k.Cache, folderName, "*", "lock"))
	if err != nil || len(locks) == 0 {
		t.Fatal(locks, err)
	}
	for _, path := range locks {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		l, err := filelock.Acquire(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, l)
	}
	stays := k.index(false)
	for _, x := range []*Index{stays, k.index(false)} {
		if n, res := k.reads(x, "okapi"); n != 1 || res.Total != 1 {
			t.Errorf("%d reads, %d hits", n, res.Total)
		}
	}
	for _, l := range held {
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if n, _ := k.reads(stays, "okapi"); n != 0 {
		t.Errorf("%d reads in the same process", n)
	}
	if n, res := k.reads(k.index(false), "okapi"); n != 0 || res.Total != 1 {
		t.Errorf("%d reads in the next one: the index was not written", n)
	}
}

// An old index is removed when another one is written.
func TestForget(t *testing.T) {
	t.Parallel()
	k := settledKit(t, 3)
	old := filepath.Join(k.Cache, folderName, "0123456789abcdef", "state")
	young := filepath.Join(k.Cache, folderName, "fedcba9876543210", "state")
	for path, at := range map[string]time.Time{old: time.Now().Add(-unused), young: time.Now()} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	k.reads(k.index(false), "zebras")
	if _, err := os.Stat(filepath.Dir(old)); !os.IsNotExist(err) {
		t.Errorf("what is old is there: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Error(err)
	}
	if n, _ := k.reads(k.index(false), "zebras"); n != 0 {
		t.Errorf("%d reads", n)
	}
}

// A first reading of very much ends in several segments.
func TestSplit(t *testing.T) {
	t.Parallel()
	f := bootFields()
	u := &update{fields: f, old: &rootIndex{}, next: &rootIndex{}, large: 300}
	for i := range 40 {
		rel := fmt.Sprintf("tools/a/b%02d.yaml", i)
		u.next.records = append(u.next.records, record{rel: rel, doc: none})
		u.before = append(u.before, nil)
		p, _ := extract.Boot().Classify(rel)
		c := &content{file: file{rel, p}, digest: item.DigestOf([]byte(rel))}
		d := f.blank(p.Ref, rel)
		u.take(i, c, d, false)
	}
	u.close()
	if len(u.next.segs) < 3 || !u.next.sound() {
		t.Fatalf("%d segments", len(u.next.segs))
	}
	for i, r := range u.next.records {
		if at := u.next.segs[r.seg].location(r.doc); at.rel != r.rel {
			t.Errorf("record %d leads to %s", i, at.rel)
		}
	}
	u.finish()
	for i, r := range u.next.records {
		if at := u.next.segs[r.seg].location(r.doc); at.rel != r.rel {
			t.Errorf("after merging, record %d leads to %s", i, at.rel)
		}
	}
}

// The signer of an item with a detached signature is that of the file next to
// it, and a change of it is a change of the item.
func TestDetachedSigner(t *testing.T) {
	t.Parallel()
	k := settledKit(t, 0)
	const rel, text = "tools/zoo/zebra.json", `{"version": "1.0.0", "tool_type": "script", "executor_id": null, "description": "A zebra."}`
	k.Write(k.Project, rel, text)
	stays := k.index(false)
	ask := func(total int, trust string) {
		t.Helper()
		for _, x := range []*Index{stays, k.index(false), k.index(true)} {
			res, err := x.Search(t.Context(), Query{Text: "zebra signed-by:" + k.signer()[:12]})
			if err != nil || res.Total != total || total > 0 && res.Hits[0].Trust != trust {
				t.Errorf("%+v, %v", res, err)
			}
		}
	}
	ask(0, "")
	sub := extract.Subject(item.Ref{Kind: item.Tool, ID: "zoo/zebra"})
	sig, _, err := sign.SignDetached(t.Context(), []byte(text), nil, sub, k.Key, k.Workspace.Now)
	if err != nil {
		t.Fatal(err)
	}
	k.Write(k.Project, rel+extract.DetachedExt, string(sig))
	ask(1, "trusted")
	time.Sleep(25 * time.Millisecond) // the clock of a file system may be slow
	k.Write(k.Project, rel, strings.Replace(text, "A zebra", "Our zebra", 1))
	ask(1, "HASH_MISMATCH") // the line names a signer, and the verdict is about its signature
	if err := os.Remove(filepath.Join(k.Project, ".ai", rel+extract.DetachedExt)); err != nil {
		t.Fatal(err)
	}
	ask(0, "")
}

// A kind that an extractor of the project brings is searched as any other, and
// without search_fields by what items have.
func TestOwnKind(t *testing.T) {
	t.Parallel()
	k := settledKit(t, 0)
	for _, search := range []string{"", "search_fields: {name: 2, spell: 5}\n"} {
		k.Put(k.Project, "tools/rye/core/extractors/skill/skill_extractor.yaml",
			"version: \"1.0.0\"\ntool_type: extractor\nexecutor_id: null\ncategory: rye/core/extractors/skill\ndescription: Skills.\nkind: skill\nfolder: skills\nitem_id: parent_dir\nitem_file: SKILL.md\n"+
				"extensions:\n  - {ext: .md, parser: rye/core/parsers/markdown_knowledge, signature: detached}\n"+search+
				"validation_schema:\n  fields:\n    name: {type: string}\n")
		k.Write(k.Project, "skills/zoo/zebra/SKILL.md", "---\nname: zebra\nspell: abracadabra\ndescription: Rides it.\n---\n\nMount and ride.\n")
		k.want("type:skill", "skill:zoo/zebra")
		k.want("zebra type:skill", "skill:zoo/zebra")
		if search == "" {
			k.want("mount type:skill", "skill:zoo/zebra")
			k.want("abracadabra type:skill")
		} else {
			k.want("mount type:skill")
			k.want("spell:abracadabra", "skill:zoo/zebra")
		}
		if res, err := k.index(false).Search(t.Context(), Query{Scope: "skill.zoo"}); err != nil || res.Total != 1 || res.Hits[0].ID != "zoo/zebra" {
			t.Errorf("%+v, %v", res, err)
		}
	}
}

// No lock is asked for in a folder that cannot be.
func TestLockNowhere(t *testing.T) {
	t.Parallel()
	if _, ok := (store{}).lock(context.Background(), "x"); ok {
		t.Error("a lock without a folder")
	}
}
