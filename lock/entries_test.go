package lock

import (
	"bytes"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"github.com/ryeos/rye/item"
)

// sameAsEntries compares the entries of a text with what ParseLock reads, and reports whether
// there are any.
func sameAsEntries(t *testing.T, b []byte) bool {
	t.Helper()
	e := ReadEntries(b)
	l, fs := ParseLock(b)
	if valid := l != nil && len(fs) == 0 && l.Minor == LockMinor && len(l.Items) > 0; valid != (e != nil) {
		t.Fatalf("ParseLock reads %q: %v (%v), ReadEntries: %v", b, valid, fs, e != nil)
	}
	if e == nil {
		return false
	}
	if text := e.Render(); !bytes.Equal(text, b) {
		t.Fatalf("%q is rendered as %q", b, text)
	}
	sameItems(t, e, l)
	return true
}

// sameItems compares the entries of two locks.
func sameItems(t *testing.T, e *Entries, l *Lock) {
	t.Helper()
	refs := slices.SortedFunc(e.Refs(), CompareRefs)
	if known := e.Known(); !slices.IsSortedFunc(known, CompareRefs) || len(known) == 0 {
		t.Fatalf("the items that were read: %v", known)
	}
	if want := slices.Collect(l.Refs()); !slices.Equal(refs, want) {
		t.Fatalf("items %v, want %v", refs, want)
	}
	for _, r := range refs {
		if got, want := e.Item(r), l.Item(r); string(got.record().append(nil)) != string(want.record().append(nil)) {
			t.Fatalf("%s: %+v, want %+v", r, got, want)
		}
	}
	if r := ref("tool:not/there"); e.Item(r) != nil || e.RemoveItem(r) {
		t.Fatal("an item that is not there was found")
	}
}

// sameNaming compares the items that name some others.
func sameNaming(t *testing.T, e *Entries, l *Lock, refs ...item.Ref) {
	t.Helper()
	named := map[item.Ref]bool{}
	for _, r := range refs {
		named[r] = true
	}
	got, want := e.Naming(named), l.Naming(named)
	for _, r := range refs { // Lock lists tools that begin their own chains, too
		want = slices.DeleteFunc(want, func(x item.Ref) bool { return x == r && !slices.Contains(got, x) })
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%v: %v, want %v", refs, got, want)
	}
}

// The entries are those of ParseLock, and a text that ParseLock reports has none, whatever
// is changed in it.
func TestReadEntries(t *testing.T) {
	l := exampleLock(t)
	l.SetItem(Item{Ref: ref("config:agent/limits"), Digest: digestOf("c")})
	l.SetItem(Item{Ref: ref("directive:a"), Digest: digestOf("d"), Uses: []Link{{ref("config:agent/limits"), digestOf("c")}, {ref("tool:t"), digestOf("t")}}})
	text := l.Render()
	if !sameAsEntries(t, text) {
		t.Fatalf("the entries of %s are not read", text)
	}
	random := rand.New(rand.NewSource(3))
	lines := bytes.SplitAfter(text, []byte{'\n'})
	read := 0
	for range rounds(5_000) {
		changed := slices.Clone(lines)
		i, j := random.Intn(len(changed)), random.Intn(len(changed))
		switch random.Intn(4) {
		case 0:
			changed[i], changed[j] = changed[j], changed[i]
		case 1:
			changed = slices.Delete(changed, i, i+1)
		case 2:
			changed = slices.Insert(changed, i, changed[j])
		default:
			if line := slices.Clone(changed[i]); len(line) > 0 {
				line[random.Intn(len(line))] = "-:[], \"atz0/\n\r<"[random.Intn(15)]
				changed[i] = line
			}
		}
		if sameAsEntries(t, slices.Concat(changed...)) {
			read++
		}
	}
	if read == 0 {
		t.Error("no changed text was read")
	}
}

// Changes of entries have the text of the same changes of a Lock.
func TestChangedEntries(t *testing.T) {
	random := rand.New(rand.NewSource(5))
	for range rounds(500) {
		l := randomLock(random)
		l.SetItems(l.Items)
		l.Sort()
		e := ReadEntries(l.Render())
		if e == nil {
			if len(l.Items) > 0 {
				t.Fatalf("not read: %s", l.Render())
			}
			continue
		}
		all := slices.Collect(l.Refs())
		for i := range 1 + random.Intn(6) {
			one := all[random.Intn(len(all))]
			sameNaming(t, ReadEntries(l.Render()), l, one, ref("tool:a/b"))
			switch random.Intn(3) {
			case 0:
				if e.RemoveItem(one) != l.RemoveItem(one) {
					t.Fatalf("removing %s", one)
				}
				if len(l.Items) == 0 {
					l.SetItem(Item{Ref: one, Digest: digestOf("last"), Chain: []Link{{one, digestOf("last")}}})
					e.SetItem(*l.Item(one))
				}
			case 1: // uses in any order, as they are found
				one = ref(fmt.Sprintf("config:new/n%d", random.Intn(9)))
				it := Item{Ref: one, Digest: digestOf("new"), Uses: []Link{{ref("tool:z"), digestOf("z")}, {ref("config:b"), digestOf("b")}}}
				l.SetItem(it)
				e.SetItem(it)
			default:
				d := digestOf(fmt.Sprint(i))
				it := Item{Ref: one, Digest: d, Chain: []Link{{one, d}, {ref("tool:rye/core/primitives/subprocess"), digestOf("p")}}}
				l.SetItem(it)
				e.SetItem(it)
			}
			sameItems(t, e, l)
			if got, want := e.Render(), l.Render(); !bytes.Equal(got, want) {
				t.Fatalf("the text is\n%s\nwant\n%s", got, want)
			}
		}
		if back, fs := ParseLock(e.Render()); back == nil || len(fs) > 0 || !reflect.DeepEqual(slices.Collect(back.Refs()), slices.Collect(l.Refs())) {
			t.Fatalf("parsing the changed text: %v", fs)
		}
	}
}

// TestNaming finds the entries that name an item, written with quotes or not.
func TestNaming(t *testing.T) {
	l := exampleLock(t)
	l.SetItem(Item{Ref: ref("directive:a"), Digest: digestOf("d"), Uses: []Link{{ref("config:agent/limits"), digestOf("c")}}})
	var all []item.Ref
	for _, it := range l.Items {
		all = append(all, it.Ref)
		for _, link := range slices.Concat(it.Chain, it.Uses) {
			all = append(all, link.Ref)
		}
	}
	for _, r := range append(all, ref("tool:not/named")) {
		sameNaming(t, ReadEntries(l.Render()), l, r)
	}
	if got := ReadEntries(l.Render()).Naming(map[item.Ref]bool{ref("config:agent/limits"): true}); !slices.Contains(got, ref("directive:a")) {
		t.Errorf("%v", got)
	}
}

func FuzzReadEntries(f *testing.F) {
	f.Add(exampleLock(f).Render())
	f.Add(randomLock(rand.New(rand.NewSource(7))).Render())
	f.Add([]byte("rye-lock: 1.1\n\n- item: config:a\n  digest: " + digestOf("a").String() + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) { sameAsEntries(t, b) })
}
