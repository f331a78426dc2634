package relock

import (
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
)

// summarised returns a line for each change of a lock, or for all changes of one kind
// together if they are many.
func summarised(changes []lock.Change, all bool) []string {
	type sort struct {
		op   lock.Op
		kind string
	}
	numbers := map[sort]int{}
	for _, ch := range changes {
		numbers[sort{ch.Op, ch.Kind}]++
	}
	var out []string
	for _, ch := range changes {
		s := sort{ch.Op, ch.Kind}
		switch n := numbers[s]; {
		case all || n > 0 && n <= project.LongList:
			out = append(out, ch.String())
		case n > 0:
			out = append(out, project.Count(n, ch.Kind)+" "+string(ch.Op))
			numbers[s] = 0
		}
	}
	return out
}
