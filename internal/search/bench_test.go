package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/resolve/space"
)

// library of made-up texts: words come as often as in a natural language.
type texts struct {
	r     *rand.Rand
	zipf  *rand.Zipf
	words []string
}

func newTexts() *texts {
	r := rand.New(rand.NewPCG(3, 4))
	t := &texts{r: r, zipf: rand.NewZipf(r, 1.1, 8, 19_999)}
	for i := range 20_000 {
		t.words = append(t.words, fmt.Sprintf("%s%s", syllable(i%83), syllable(i/83)))
	}
	return t
}

func syllable(i int) string {
	const c, v = "bdfgklmnprstvz", "aeiou"
	return string([]byte{c[i%len(c)], v[i/len(c)%len(v)], c[i/3%len(c)]})
}

func (t *texts) some(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = t.words[t.zipf.Uint64()]
	}
	return strings.Join(out, " ")
}

// item returns the i-th item of a corpus: its path and its text.
func (t *texts) item(i int) (rel, text string) {
	at := fmt.Sprintf("area%02d/part%03d/item_%06d", i/500%20, i/50, i)
	switch i % 3 {
	case 0:
		return "directives/" + at + ".md", directive(fmt.Sprintf("item_%06d", i), t.some(4), t.some(15), t.some(250))
	case 1:
		return "knowledge/" + at + ".md", knowledge(t.some(4), strings.ReplaceAll(t.some(3), " ", ", "), t.some(250))
	}
	return "tools/" + at + ".yaml", tool(t.some(15), "tags: ["+strings.ReplaceAll(t.some(3), " ", ", ")+"]\n")
}

// segmentOf returns an index of n items that never were files.
func segmentOf(b testing.TB, f *fields, n int) *segment {
	t, build := newTexts(), newBuilder(f)
	for i := range n {
		rel, text := t.item(i)
		for _, ext := range f.exts {
			if p, ok := ext.Classify(rel); ok {
				if d, ok := f.readDocument(p, rel, []byte(text), nil); ok {
					build.add(d)
				}
			}
		}
	}
	s, ok := openSegment(string(build.bytes()), f)
	if !ok {
		b.Fatal("a segment that was just written")
	}
	return s
}

// forms are queries of every form: rare and common words, and what costs most.
func forms(t *texts) map[string]func() string {
	word := func() string { return t.words[20+t.r.IntN(4000)] }
	return map[string]func() string{
		"word":   word,
		"common": func() string { return t.words[t.r.IntN(20)] },
		"and":    func() string { return word() + " AND " + word() },
		"words":  func() string { return word() + " " + word() },
		"sentence": func() string {
			common := func() string { return t.words[t.r.IntN(20)] }
			return strings.Join([]string{common(), common(), word(), common(), word(), common(), word()}, " ")
		},
		"or":     func() string { return word() + " OR " + word() + " OR " + word() },
		"not":    func() string { return word() + " NOT " + word() },
		"phrase": func() string { return `"` + t.words[t.r.IntN(20)] + " " + t.words[t.r.IntN(20)] + `"` },
		"near":   func() string { return `"` + word() + " " + t.words[t.r.IntN(20)] + `"~5` },
		"wild":   func() string { return word()[:4] + "*" },
		"inside": func() string { return "*" + word()[1:4] + "*" },
		"fuzzy":  func() string { return word() + "~1" },
		"field":  func() string { return "title:" + word() },
		"kind":   func() string { return word() + " type:tool ns:area01" },
		"all":    func() string { return "*" },
	}
}

func corpusFields(t testing.TB) *fields {
	return newFields(weighted(t, map[string]float64{"name": 3, "title": 3, "description": 2, "category": 1.5, "tags": 2, "body": 1}))
}

// BenchmarkQuery answers queries from memory: no walk, and no item is opened.
// It reports p50 and p99 over all forms of query.
func BenchmarkQuery(b *testing.B) {
	f := corpusFields(b)
	for _, n := range []int{1000, 10_000, 100_000} {
		if testing.Short() && n > 10_000 {
			continue
		}
		seg := segmentOf(b, f, n)
		root := space.NewDir(space.Project, "", b.TempDir(), false)
		v := newView(f, []*space.Root{root}, []part{{seg: seg, live: allBits(seg.docs)}})
		s := &ranker{v, []*space.Root{root}, []int{0}}
		ask := forms(newTexts())
		var all []time.Duration
		for _, name := range sortedNames(ask) {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				var took []time.Duration
				for b.Loop() {
					q := ask[name]()
					start := time.Now()
					node, err := parse(q, names{fields: f.names, kinds: f.kinds})
					if err != nil {
						b.Fatal(err)
					}
					s.first(s.matching(node, nil, nil), 10)
					took = append(took, time.Since(start))
				}
				report(b, took)
				all = append(all, took...)
			})
		}
		slices.Sort(all)
		if len(all) > 0 {
			b.Logf("%d items, segment of %d kB, every form: p50 %v, p99 %v", n, len(seg.data)/1000, all[len(all)/2], all[len(all)*99/100])
		}
	}
}

func sortedNames[V any](m map[string]V) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100])/1e3, "p99-µs")
}

// onDisk returns a project with n items that are an hour old by its clock.
func onDisk(b *testing.B, n int) *kit {
	k := newKit(b)
	k.p.Now = func() time.Time { return time.Now().Add(time.Hour) }
	t := newTexts()
	for i := range n {
		rel, text := t.item(i)
		k.Write(k.Project, rel, text)
	}
	return k
}

// BenchmarkSearch is a whole search: warm with a walk and without, as a new
// process does it with the index in the cache and without, and the scan.
func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		k := onDisk(b, n)
		t := newTexts()
		queries := forms(t)
		run := func(name string, search func(q Query) error) {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				var took []time.Duration
				for b.Loop() {
					q := Query{Text: queries["word"]()}
					start := time.Now()
					if err := search(q); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(start))
				}
				report(b, took)
			})
		}
		with := func(x *Index) func(Query) error {
			return func(q Query) error { _, err := x.Search(context.Background(), q); return err }
		}
		warm := k.index(false)
		run("warm", with(warm))
		fresh := *warm
		fresh.p.Fresh = time.Hour
		run("warm, no walk", with(&fresh))
		run("cold", func(q Query) error { return with(k.index(false))(q) })
		run("no index yet", func(q Query) error {
			x := k.index(false)
			x.store.dir = ""
			return with(x)(q)
		})
		run("scan", with(k.index(true)))
	}
}

// BenchmarkEdit is the first query after one item of 10,000 changed.
func BenchmarkEdit(b *testing.B) {
	k := onDisk(b, 10_000)
	x := k.index(false)
	for i := 0; b.Loop(); i++ {
		k.Write(k.Project, "tools/area00/edited.yaml", tool(fmt.Sprintf("Edited %d times.", i), ""))
		if _, err := x.Search(b.Context(), Query{Text: "edited"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParts measures the parts of a cold search over 10,000 items: reading
// the index, checking the files, building a view.
func BenchmarkParts(b *testing.B) {
	k := onDisk(b, 10_000)
	x := k.index(false)
	if _, err := x.Search(b.Context(), Query{Text: "edited"}); err != nil {
		b.Fatal(err)
	}
	key := x.store.key(x.mem.fields, x.p.Build, "root", x.p.Resolver.Roots()[0].Path("."))
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if h := x.store.load(x.mem.fields, key); len(h.records) != 10_000 {
				b.Fatal(len(h.records))
			}
		}
	})
	b.Run("look", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := x.current(b.Context(), x.mem.fields, x.p.Resolver.Roots()[0]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("view", func(b *testing.B) {
		s := source{rootIndex: x.mem.roots[key].rootIndex}
		for b.Loop() {
			newView(x.mem.fields, x.p.Resolver.Roots(), s.parts(x.p.Resolver.Roots()[0]))
		}
	})
}
