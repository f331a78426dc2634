package lock

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// sameAsParsed compares the quick reader with the parser, and reports whether it read b.
func sameAsParsed(t *testing.T, b []byte) bool {
	t.Helper()
	if len(precheck(b, MaxLock, "lock")) > 0 || conflictLine(b) > 0 {
		return false
	}
	quick := quickLock(b)
	if quick == nil {
		return false
	}
	l, fs := parseLock(b)
	if l == nil || len(fs) > 0 {
		t.Fatalf("only the quick reader reads %q: %v", b, fs)
	}
	if !reflect.DeepEqual(quick, l) {
		t.Fatalf("%q is\n%+v\nquick, and\n%+v", b, quick, l)
	}
	return true
}

// The quick reader reads what Render writes, and nothing that the parser reports.
func TestQuickLock(t *testing.T) {
	l := exampleLock(t)
	l.SetItem(Item{Ref: ref("config:agent/limits"), Digest: digestOf("c")})
	l.SetItem(Item{Ref: ref("directive:a"), Digest: digestOf("d"), Uses: []Link{{ref("config:agent/limits"), digestOf("c")}, {ref("tool:t"), digestOf("t")}}})
	text := l.Render()
	if !sameAsParsed(t, text) {
		t.Fatalf("the quick reader does not read %s", text)
	}
	if slow := slowEntries(text); slow != nil {
		t.Errorf("these entries are left to the parser: %q", slow)
	}
	random := rand.New(rand.NewPCG(1, 2))
	lines := bytes.SplitAfter(text, []byte{'\n'})
	read := 0
	for range 20_000 {
		changed := slices.Clone(lines)
		i, j := random.IntN(len(changed)), random.IntN(len(changed))
		switch random.IntN(4) {
		case 0: // two lines are exchanged
			changed[i], changed[j] = changed[j], changed[i]
		case 1:
			changed = slices.Delete(changed, i, i+1)
		case 2:
			changed = slices.Insert(changed, i, changed[j])
		default: // a byte of a line
			if line := slices.Clone(changed[i]); len(line) > 0 {
				line[random.IntN(len(line))] = "-:[], \"atz0/\n"[random.IntN(13)]
				changed[i] = line
			}
		}
		if b := slices.Concat(changed...); len(b) > 0 && sameAsParsed(t, b) {
			read++
		}
	}
	if read == 0 {
		t.Error("no changed text was read")
	}
}

// slowEntries returns the entries of items that are left to the parser.
func slowEntries(text []byte) (slow []string) {
	r := itemReader{links: map[linkText]Link{}}
	for _, entry := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n\n") {
		if _, ok := r.quick("\n" + entry + "\n"); !ok && strings.HasPrefix(entry, "- item: ") && !strings.Contains(entry, "\n  deps: ") {
			slow = append(slow, entry)
		}
	}
	return slow
}
