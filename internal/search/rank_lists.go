package search

// Lists of matches are ordered by document.

// plus returns the match of one document by two parts of a query.
func (m match) plus(o match) match {
	return match{m.doc, m.words + o.words, m.score + o.score, m.weight + o.weight}
}

// both returns the documents of two lists.
func both(a, b []match) []match {
	out := a[:0]
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].doc < b[j].doc:
			i++
		case a[i].doc > b[j].doc:
			j++
		default:
			out = append(out, a[i].plus(b[j]))
			i++
			j++
		}
	}
	return out
}

// also adds the scores of b to the documents of a.
func also(a, b []match) []match {
	j := 0
	for i := range a {
		for j < len(b) && b[j].doc < a[i].doc {
			j++
		}
		if j < len(b) && b[j].doc == a[i].doc {
			a[i] = a[i].plus(b[j])
		}
	}
	return a
}

// either returns the documents of one list or both.
func either(a, b []match) []match {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := make([]match, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].doc < b[0].doc:
			out = append(out, a[0])
			a = a[1:]
		case a[0].doc > b[0].doc:
			out = append(out, b[0])
			b = b[1:]
		default:
			out = append(out, a[0].plus(b[0]))
			a = a[1:]
			b = b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// alternatives returns the matches of parts of which one is enough: together they
// are one word.
func alternatives(m matches) matches {
	m.words = min(m.words, 1)
	for i := range m.list {
		m.list[i].words = min(m.list[i].words, m.words)
	}
	return m
}

// within returns the documents of a that are in b.
func within(a, b []match) []match {
	out := a[:0]
	j := 0
	for _, m := range a {
		for j < len(b) && b[j].doc < m.doc {
			j++
		}
		if j < len(b) && b[j].doc == m.doc {
			out = append(out, m)
		}
	}
	return out
}

// without returns the documents of a that are not in b.
func without(a, b []match) []match {
	out := a[:0]
	j := 0
	for _, m := range a {
		for j < len(b) && b[j].doc < m.doc {
			j++
		}
		if j == len(b) || b[j].doc != m.doc {
			out = append(out, m)
		}
	}
	return out
}

// countPhrases returns the number of positions at which the words follow one
// another. at[i] has the positions of word i.
func countPhrases(at [][]uint32) (n uint32) {
	next := make([]int, len(at))
	for _, start := range at[0] {
		ok := true
		for i := 1; i < len(at) && ok; i++ {
			want := start + uint32(i)
			for next[i] < len(at[i]) && at[i][next[i]] < want {
				next[i]++
			}
			ok = next[i] < len(at[i]) && at[i][next[i]] == want
		}
		if ok {
			n++
		}
	}
	return n
}

// countWindows returns the number of positions that end a window with need[i]
// occurrences of each word i and at most others further tokens. Of the windows
// that end at one position, the shortest is used.
func countWindows(at [][]uint32, need []int, others int) (n uint32) {
	total := 0
	missing := 0
	for _, k := range need {
		total += k
		missing += k
	}
	type event struct {
		pos  uint32
		word int
	}
	var events []event
	next := make([]int, len(at))
	for {
		first := -1
		for w := range at {
			if next[w] < len(at[w]) &&
				(first < 0 || at[w][next[w]] < at[first][next[first]]) {
				first = w
			}
		}
		if first < 0 {
			break
		}
		events = append(events, event{at[first][next[first]], first})
		next[first]++
	}
	have := make([]int, len(at))
	left := 0
	for _, e := range events {
		if have[e.word]++; have[e.word] <= need[e.word] {
			missing--
		}
		for left < len(events) && have[events[left].word] > need[events[left].word] {
			have[events[left].word]--
			left++
		}
		if missing == 0 && int(e.pos-events[left].pos)+1-total <= others {
			n++
		}
	}
	return n
}
