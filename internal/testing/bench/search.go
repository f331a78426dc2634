package main

import (
	"fmt"
	"path/filepath"
	"time"
)

// settle is how long a file must be unchanged before rye trusts its times.
const settle = 2100 * time.Millisecond

// search compares rye search with an index, as a new process each, with reading
// every item.
func (b *bench) search() error {
	fmt.Printf("\n| search | one word | a pattern | --no-index | first query | `rye version` | one word, memory |\n|---|---|---|---|---|---|---|\n")
	for _, n := range b.sizes {
		dir := filepath.Join(b.work, fmt.Sprintf("search-%d", n))
		if err := writeCorpus(dir, 0, n); err != nil {
			return err
		}
		time.Sleep(settle)
		ask := func(words ...string) program {
			p := b.program(dir, append([]string{b.rye, "search"}, words...)...)
			p.env = append(p.env, "RYE_CACHE="+filepath.Join(dir, "cache"))
			return p
		}
		first, err := ask("item_00042").once()
		if err != nil {
			return err
		}
		got, err := race(
			b.rounds,
			ask("item_00042"),
			ask("item_0004*"),
			ask("--no-index", "item_00042"),
			b.program(dir, b.rye, "version"),
		)
		if err != nil {
			return err
		}
		fmt.Printf(
			"| %d items | %s | %s | %s | %s | %s | %s |\n",
			n,
			got[0],
			got[1],
			got[2],
			ms(first.elapsed),
			got[3],
			mb(got[0].rss),
		)
	}
	return nil
}
