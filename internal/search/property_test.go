package search

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ryeos/rye/stdlib"
)

// world changes items at random and asks at random.
type world struct {
	*kit
	r     *rand.Rand
	files []string // absolute
}

// vocabulary of the items: short, so that everything meets everything.
func someWords() []string {
	return []string{"alpha", "beta", "gamma", "delta", "alphabet", "betas", "gamm", "zoë", "Zoë", "x1", "edit_lines", "edit", "lines", "42", "ünïcode", "日本"}
}

func (w *world) word() string { l := someWords(); return l[w.r.IntN(len(l))] }

func (w *world) words(n int) string {
	out := make([]string, w.r.IntN(n+1))
	for i := range out {
		out[i] = w.word()
	}
	return strings.Join(out, []string{" ", "-", ". "}[w.r.IntN(3)])
}

// edit changes one file: writes, damages, renames or removes it.
func (w *world) edit() {
	base := []string{w.Project, w.User}[w.r.IntN(2)]
	name := fmt.Sprintf("%s/%s", []string{"a", "b", "a/c"}[w.r.IntN(3)], []string{"edit_lines", "alpha", "beta", "x"}[w.r.IntN(4)])
	switch w.r.IntN(10) {
	case 0:
		if len(w.files) > 0 {
			_ = os.Remove(w.files[w.r.IntN(len(w.files))]) // it may be gone already
		}
	case 1:
		if len(w.files) > 0 {
			_ = os.Rename(w.files[w.r.IntN(len(w.files))], filepath.Join(w.Project, ".ai/tools/a/moved.yaml"))
		}
	case 2:
		w.write(base, "knowledge/"+name+".md", "---\ntitle: [\n---\n"+w.words(9))
	case 3, 4:
		w.write(base, "knowledge/"+name+".md", knowledge("T "+w.words(3), w.words(2), w.words(30)))
	case 5, 6:
		w.write(base, "directives/"+name+".md", directive(filepath.Base(name), w.words(3), w.words(5), w.words(30)))
	case 7:
		w.write(base, "tools/"+name+".sh", "# version: 1.0.0\n# tool_type: script\n# description: "+w.words(5)+"\necho "+w.words(9)+"\n")
	case 8:
		w.write(base, "tools/"+name+".txt", w.words(3)) // no item
	default:
		w.write(base, "tools/"+name+".yaml", tool("D "+w.words(6), "tags: ["+strings.ReplaceAll(w.words(3), " ", ", ")+"]\n"))
	}
}

func (w *world) write(base, rel, text string) {
	if strings.HasSuffix(rel, ".txt") || w.r.IntN(3) > 0 {
		w.files = append(w.files, w.Write(base, rel, text))
		return
	}
	w.Put(base, rel, text)
}

// query makes a query of any form.
func (w *world) query(depth int) string {
	if depth > 0 && w.r.IntN(2) == 0 {
		a, b := w.query(depth-1), w.query(depth-1)
		return []string{a + " " + b, a + " AND " + b, a + " OR " + b, "(" + a + ") NOT (" + b + ")", "(" + a + " OR " + b + ")", "NOT (" + a + ")"}[w.r.IntN(6)]
	}
	a, b := w.word(), w.word()
	field := []string{"title", "name", "description", "category", "tags", "body"}[w.r.IntN(6)]
	return []string{
		a, a, a, field + ":" + a, `"` + a + " " + b + `"`, field + `:"` + a + " " + b + `"`, fmt.Sprintf(`"%s %s"~%d`, a, b, w.r.IntN(6)),
		a[:1] + "*", "*" + a[len(a)-1:], "*", field + ":*", field + ":" + a[:2] + "*", fmt.Sprintf("%s~%d", a, w.r.IntN(3)), "alhpa", "type:tool", "space:user", "space:system",
		"ns:a", "ns:a/c", "signed-by:" + w.signer()[:8], fmt.Sprintf(`"%s %s %s"~%d`, a, b, a, w.r.IntN(9)), "tool:a/" + a, "giraffe",
	}[w.r.IntN(23)]
}

func show(r *Result, err error) string {
	b, jsonErr := json.MarshalIndent(r, "", " ")
	if jsonErr != nil {
		return jsonErr.Error()
	}
	return fmt.Sprint(string(b), err)
}

// The index and the scan return the same results, to the last digit, for every
// query and after every change of the files, in one long-lived index and in
// indexes that are opened for one query.
func TestIndexIsScan(t *testing.T) {
	t.Parallel()
	seeds, rounds := 4, 25
	switch {
	case testing.Short():
		seeds, rounds = 2, 4 // the fourth damages the cache
	case os.Getenv("RYE_LONG") == "":
		rounds = 8
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			compareIndexAndScan(t, seed, rounds)
		})
	}
}

func compareIndexAndScan(t *testing.T, seed, rounds int) {
	w := &world{kit: newKit(t), r: rand.New(rand.NewPCG(uint64(seed), 7))}
	w.System = smallSystem(t)
	settled := seed%2 == 1
	if settled { // all changes are old enough for their stamps to be believed
		w.p.Now = func() time.Time { return time.Now().Add(time.Hour) }
	}
	longLived := w.index(false)
	if res, err := longLived.Search(t.Context(), Query{Text: "space:system"}); err != nil || res.Total < 10 {
		t.Fatalf("the system space has few items: %+v, %v", res, err)
	}
	for round := range rounds {
		if settled {
			time.Sleep(25 * time.Millisecond) // the clock of the file system must advance
		}
		for range w.r.IntN(6) {
			w.edit()
		}
		if round%7 == 3 {
			w.damageCache()
		}
		for range 6 {
			q := Query{Text: w.query(2), Scope: []string{"", "", "all", "tool", "knowledge.a", "directive.b.*"}[w.r.IntN(6)],
				Space: []string{"", "", "", "project", "user"}[w.r.IntN(5)], Limit: 1 + w.r.IntN(12), Offset: w.r.IntN(4)}
			want := show(w.index(true).Search(t.Context(), q))
			for name, x := range map[string]*Index{"long-lived": longLived, "new": w.index(false)} {
				if got := show(x.Search(t.Context(), q)); got != want {
					t.Fatalf("seed %d, round %d, %s: %+v\nindex %s\nscan %s", seed, round, name, q, got, want)
				}
			}
		}
	}
}

// smallSystem returns a quarter of the system space, with the items that read others. Each
// scan reads all items again, so the whole space would take most of the time.
func smallSystem(t *testing.T) fs.FS {
	kept := []string{".ai/bundles", ".ai/knowledge", ".ai/tools/rye/core/extractors", ".ai/tools/rye/core/parsers", ".ai/tools/rye/web"}
	out := fstest.MapFS{}
	system := stdlib.FS()
	for _, dir := range kept {
		err := fs.WalkDir(system, dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := fs.ReadFile(system, name)
			out[name] = &fstest.MapFile{Data: content}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// damageCache removes, cuts or changes files of the index.
func (w *world) damageCache() {
	_ = filepath.WalkDir(w.Cache, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		b, err := os.ReadFile(p)
		switch w.r.IntN(4) {
		case 0:
			return os.Remove(p)
		case 1:
			return os.WriteFile(p, b[:w.r.IntN(len(b)+1)], 0o600)
		case 2:
			if len(b) > 0 {
				b[w.r.IntN(len(b))] ^= 1 << w.r.IntN(8)
			}
			return os.WriteFile(p, b, 0o600)
		}
		return err
	})
}
