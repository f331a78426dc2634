package lock

import (
	"bytes"
	"fmt"
	oldrand "math/rand"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// rounds returns how often a test checks something random: a tenth of n with -short.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// readAlike compares the lock and the findings that ParseLock returns with the ones that records of
// all entries give, and reports whether b is canonical. The items of a canonical text are read in one
// pass.
func readAlike(t *testing.T, b []byte) bool {
	t.Helper()
	quick, found := ParseLock(b)
	slow, want := parseLock(b, nil)
	if !reflect.DeepEqual(found, want) || !reflect.DeepEqual(quick, slow) {
		t.Fatalf("%q is\n%+v\n%v\nin one pass, and\n%+v\n%v", b, quick, found, slow, want)
	}
	if quick == nil {
		return false
	}
	for _, it := range quick.Items {
		if text := quick.canonical.reader().of(&it); text != "" && text != string(it.record().append(nil)) {
			t.Fatalf("the text of %s is %q in %q", it.Ref, text, b)
		}
	}
	isCanonical := !slices.ContainsFunc(found, IsFormNote)
	fresh := quick.Clone() // of the same format number
	fresh.canonical = nil
	fresh.Sort()
	var text []byte
	for r := range fresh.inOrder() {
		text = r.append(text)
	}
	if isCanonical != bytes.Equal(text, b) {
		t.Fatalf("%q is canonical: %v, and it is written as %q", b, isCanonical, text)
	}
	if isCanonical && len(quick.Items) > 0 && !quick.asRead() {
		t.Fatalf("the text of the items of %q is not kept", b)
	}
	return isCanonical
}

// The one-pass reader reads what Render writes, and nothing that the parser reports.
func TestItemReader(t *testing.T) {
	l := exampleLock(t)
	l.SetItem(Item{Ref: ref("config:agent/limits"), Digest: digestOf("c")})
	l.SetItem(Item{Ref: ref("directive:a"), Digest: digestOf("d"), Uses: []Link{{ref("config:agent/limits"), digestOf("c")}, {ref("tool:t"), digestOf("t")}}})
	text := l.Render()
	if !readAlike(t, text) {
		t.Fatalf("not canonical: %s", text)
	}
	if slow := slowEntries(text); slow != nil {
		t.Errorf("these entries are left to the parser: %q", slow)
	}
	random := rand.New(rand.NewPCG(1, 2))
	lines := bytes.SplitAfter(text, []byte{'\n'})
	read := 0
	for range rounds(20_000) {
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
				line[random.IntN(len(line))] = "-:[], \"atz0/\n\r<"[random.IntN(15)]
				changed[i] = line
			}
		}
		if readAlike(t, slices.Concat(changed...)) {
			read++
		}
	}
	if read == 0 {
		t.Error("no changed text was read")
	}
}

// TestItemReaderOfRandomLocks reads locks whose entries are in disorder, repeated and quoted.
func TestItemReaderOfRandomLocks(t *testing.T) {
	for seed := range uint64(rounds(500)) {
		random := rand.New(rand.NewPCG(seed, 3))
		text := randomLock(oldrand.New(oldrand.NewSource(int64(seed)))).Render()
		if !readAlike(t, text) {
			t.Fatalf("not canonical: %s", text)
		}
		entries := bytes.SplitAfter(text, []byte("\n\n"))
		random.Shuffle(len(entries), func(i, j int) {
			if i > 0 && j > 0 {
				entries[i], entries[j] = entries[j], entries[i]
			}
		})
		if len(entries) > 1 && seed%2 == 0 {
			entries = append(entries, []byte("\n"), entries[1+random.IntN(len(entries)-1)])
		}
		shuffled := bytes.Join(entries, nil)
		readAlike(t, shuffled)
		readAlike(t, bytes.ReplaceAll(shuffled, []byte("tool:"), []byte(`tool\x3a`)))
	}
}

// FuzzItemReader compares the two ways to read an entry.
func FuzzItemReader(f *testing.F) {
	d := digestOf("x").String()
	head := "rye-lock: 1.1\nmanifest: h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
	f.Add(example(f, "rye.lock"))
	f.Add(randomLock(oldrand.New(oldrand.NewSource(7))).Render())
	for _, entries := range []string{
		"\n- item: config:a\n  digest: " + d + "\n",
		"\n- item: config:a\n  digest: " + d + "\n  what: x\n\n- item: config:b\n  digest: " + d + "\n",
		"\n- item: config:b\n  digest: " + d + "\n\n- item: config:a\n  digest: " + d + "\n\n- item: config:b\n  digest: " + d + "\n",
		"\n- item: \"config:a\"\n  digest: " + d + "\n  uses: [config:b " + d + ", config:b " + d + "]\n",
		"\n- item: config:a\n  digest: " + d + "\n\n- member: ./x\n  manifest: h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
		"- item: tool:a\n  digest: " + d + "\n  chain: [tool:a " + d + "]\n\n\n",
	} {
		f.Add([]byte(head + entries))
	}
	f.Fuzz(func(t *testing.T, b []byte) { readAlike(t, b) })
}

// slowEntries returns the entries of items that are left to the parser.
func slowEntries(text []byte) (slow []string) {
	r := itemReader{links: map[linkText]Link{}}
	for _, entry := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n\n") {
		if _, ok := r.read("\n" + entry + "\n"); !ok && strings.HasPrefix(entry, "- item: ") && !strings.Contains(entry, "\n  deps: ") {
			slow = append(slow, entry)
		}
	}
	return slow
}

// checkRender compares the text of a lock, most of which is copied, with that of the same
// entries when they were not read from a text.
func checkRender(t *testing.T, l *Lock) {
	t.Helper()
	fresh := l.Clone()
	fresh.canonical = nil
	if got, want := l.Render(), fresh.Render(); !bytes.Equal(got, want) {
		t.Fatalf("rendered\n%s\nwant\n%s", got, want)
	}
}

// changeItems makes some changes of items, as commands do.
func changeItems(l *Lock, random *rand.Rand) {
	for range random.IntN(6) {
		added := Item{Ref: ref(fmt.Sprintf("tool:t%d", random.IntN(50))), Digest: digestOf("t")}
		added.Chain = []Link{{added.Ref, added.Digest}}
		if len(l.Items) == 0 {
			l.SetItem(added)
			continue
		}
		at := random.IntN(len(l.Items))
		it := l.Items[at]
		it.Chain, it.Uses = slices.Clone(it.Chain), slices.Clone(it.Uses)
		switch random.IntN(6) {
		case 0:
			it.Digest = digestOf("changed")
			l.SetItem(it)
		case 1:
			l.SetItem(added)
		case 2:
			l.RemoveItem(it.Ref)
		case 3:
			it.Uses = append(it.Uses, Link{added.Ref, added.Digest})
			l.SetItem(it)
		case 4:
			l.SetItems(slices.Delete(slices.Clone(l.Items), at, at+1))
		default:
			l.SetItem(it) // as it was
		}
	}
}

func FuzzRenderChanged(f *testing.F) {
	f.Add(example(f, "rye.lock"), uint64(0))
	f.Add([]byte("rye-lock: 1.1\nmanifest: h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"), uint64(3))
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		l, _ := ParseLock(b)
		if l == nil {
			return
		}
		checkRender(t, l)
		changeItems(l, rand.New(rand.NewPCG(seed, 1)))
		checkRender(t, l)
	})
}

// TestRenderChanged changes some entries of many. Few are rendered again.
func TestRenderChanged(t *testing.T) {
	l := exampleLock(t)
	for i := range 200 {
		it := Link{ref(fmt.Sprintf("tool:many/t%d", i)), digestOf("x")}
		l.SetItem(Item{Ref: it.Ref, Digest: it.Digest, Chain: []Link{it, {ref("tool:rye/run"), digestOf("r")}}, Deps: []Dep{{"numpy", "1.0", digestOf("n")}}})
	}
	text := l.Render()
	for seed := range uint64(rounds(300)) {
		read, fs := ParseLock(text)
		if read == nil || len(fs) > 0 || read.canonical == nil {
			t.Fatal(fs)
		}
		before := read.Clone()
		changeItems(read, rand.New(rand.NewPCG(seed, 2)))
		checkRender(t, read)
		if !bytes.Equal(before.Render(), text) {
			t.Fatal("a copy changed with the lock")
		}
	}
}
