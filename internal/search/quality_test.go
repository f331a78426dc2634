package search

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// wish is a line of testdata/quality.txt.
type wish struct {
	query string
	upTo  int
	ref   string
}

func wishes(t *testing.T) (out []wish) {
	f, err := os.Open("testdata/quality.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		words := strings.Fields(line)
		w := wish{ref: words[len(words)-1]}
		if _, err := fmt.Sscan(words[len(words)-2], &w.upTo); err != nil || len(words) < 3 {
			t.Fatalf("%q: %v", line, err)
		}
		w.query = strings.Join(words[:len(words)-2], " ")
		out = append(out, w)
	}
	return out
}

// The expected item is the first hit, or at most at the position in the list.
func TestQuality(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	corpus, err := txtar.ParseFile("testdata/corpus.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range corpus.Files {
		k.Put(k.Project, f.Name, string(f.Data))
	}
	x := k.index(false)
	sum := 0.0
	all := wishes(t)
	for _, w := range all {
		res, err := x.Search(t.Context(), Query{Text: w.query})
		if err != nil {
			t.Errorf("%s: %v", w.query, err)
			continue
		}
		at := slices.Index(refs(res), w.ref)
		if at >= 0 {
			sum += 1 / float64(at+1)
		}
		if at < 0 || at >= w.upTo {
			t.Errorf("%s: %s comes at %d, not among the first %d of %q", w.query, w.ref, at+1, w.upTo, refs(res)[:min(4, len(res.Hits))])
		}
		for _, h := range res.Hits {
			if strings.HasPrefix(h.Source, "project") && h.Trust != "trusted" {
				t.Errorf("%s: the corpus has a bad item: %+v", w.query, h)
			}
		}
	}
	t.Logf("%d queries, mean reciprocal rank %.3f", len(all), sum/float64(len(all)))
}
