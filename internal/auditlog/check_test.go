package auditlog

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/chainlog"
)

// TestCheckNamesTheLine checks the findings of each kind of damage.
func TestCheckNamesTheLine(t *testing.T) {
	l := newLog(t)
	add(t, l, 5)
	whole := string(content(t, l))
	line := strings.SplitAfter(whole, "\n")
	join := func(n ...int) string {
		var b strings.Builder
		for _, i := range n {
			b.WriteString(line[i-1])
		}
		return b.String()
	}
	swap := func(old, with string) string { return strings.Replace(whole, old, with, 1) }
	for _, c := range []struct{ name, log, want string }{
		{"nothing", whole, ""},
		{"first line altered", swap("t0", "t9"), "1 error it was altered: line 2 names the hash of another line here"},
		{"middle line altered", swap("t2", "t9"), "3 error it was altered: line 4 names the hash of another line here"},
		{"last but one altered", swap("t3", "t9"), "4 error it was altered: line 5 names the hash of another line here"},
		{"last line altered", swap("t4", "t9"), "5 error it was altered: signatures.head names the hash of another line here"},
		{"two lines altered", strings.NewReplacer("t1", "t8", "t3", "t9").Replace(whole),
			"2 error it was altered: line 3 names the hash of another line here; 4 error it was altered: line 5 names the hash of another line here"},
		{"what the first names", swap(`"prev":"sha256:`+chainlog.Digest([]byte(genesis))[7:9], `"prev":"sha256:00`), "1 error it was altered: it names a line before it, and it is the first"},
		{"what a line names", swap(chainlog.Digest([]byte(line[1])), chainlog.Digest(nil)), "3 error it was altered: line 4 names the hash of another line here"},
		{"what the last names", swap(chainlog.Digest([]byte(line[3])), chainlog.Digest(nil)), "5 error it was altered: signatures.head names the hash of another line here"},
		{"the number of a line", swap(`"seq":3`, `"seq":7`), "3 error it was altered: it follows entry 2 and calls itself 7"},
		{"no JSON", swap(`{"seq":3`, `["seq":3`), "3 error it is not an entry: invalid character ':' after array element"},
		{"spelled otherwise", swap(`"seq":3,`, `"seq": 3,`), "3 error it is not in the spelling of rye"},
		{"a field twice", swap(`"seq":3,`, `"seq":3,"seq":3,`), "3 error it is not in the spelling of rye"},
		{"a field more", swap(`"seq":3,`, `"seq":3,"note":"",`), "3 error it is not in the spelling of rye"},
		{"a field of another case", swap(`"seq":3,`, `"Seq":3,`), "3 error it is not in the spelling of rye"},
		{"first line removed", join(2, 3, 4, 5), "1 error entry 1 was removed before it"},
		{"middle lines removed", join(1, 4, 5), "2 error entries 2 to 3 were removed before it"},
		{"last line removed", join(1, 2, 3, 4), "4 error the log ends here: entry 5 was removed"},
		{"last lines removed", join(1, 2), "2 error the log ends here: entries 3 to 5 were removed"},
		{"all removed", "", "1 error the log ends here: entries 1 to 5 were removed"},
		{"two lines exchanged", join(1, 3, 2, 4, 5),
			"2 error entry 3 is in the position of entry 2: lines were moved or copied; 3 error entry 2 is in the position of entry 4: lines were moved or copied; " +
				"4 error entry 4 is in the position of entry 3: lines were moved or copied"},
		{"the last two exchanged", join(1, 2, 3, 5, 4),
			"4 error entry 5 is in the position of entry 4: lines were moved or copied; 5 error entry 4 is in the position of entry 6: lines were moved or copied; " +
				"5 error the log ends here: entry 5 was removed"},
		{"a line twice", join(1, 2, 2, 3, 4, 5), "3 error entry 2 is in the position of entry 3: lines were moved or copied"},
		{"cut in the last line", whole[:len(whole)-7], "5 error it was cut; 4 error the log ends here: entry 5 was removed"},
		{"cut before the line feed", whole[:len(whole)-1], "5 error it was cut; 4 error the log ends here: entry 5 was removed"},
		{"cut in the middle", whole[:len(whole)/2], "3 error it was cut; 2 error the log ends here: entries 3 to 5 were removed"},
		{"other line ends", strings.Replace(whole, "\n", "\r\n", 1), "1 error it is not in the spelling of rye"},
		{"byte order mark", "\xef\xbb\xbf" + whole, "1 error it is not an entry: invalid character 'ï' looking for beginning of value"},
		{"NUL", swap("t2", "t\x00"), "3 error it is not an entry: invalid character '\\x00' in string literal"},
		{"hidden character", swap("demo/t2", "demo/t\u202e"), "3 error it is not in the spelling of rye"},
		{"escaped hidden character", swap("demo/t2", `demo/t\u202e`), "3 error id is \"demo/t\\u202e\""},
		{"not UTF-8", swap("hello", "hell\xff"), "1 error it is not in the spelling of rye"},
		{"an invalid time", swap("2026-02-14T00:27:54Z", "2026-02-30T00:27:54Z"), "1 error time is \"2026-02-30T00:27:54Z\""},
		{"a time of another zone", swap("2026-02-14T00:27:54Z", "2026-02-14T01:27:54+01:00"), "1 error time is \"2026-02-14T01:27:54+01:00\""},
		{"a time with a fraction", swap("2026-02-14T00:27:54Z", "2026-02-14T00:27:54.5Z"), "1 error time is \"2026-02-14T00:27:54.5Z\""},
		{"an empty line", join(1) + "\n" + join(2, 3, 4, 5), "2 error it is not an entry: unexpected end of JSON input; 3 error entry 2 is in the position of entry 3: lines were moved or copied"},
		{"a huge line", join(1) + strings.Repeat("x", 1<<20) + "\n" + join(2, 3, 4, 5),
			"2 error it has more than 32768 bytes; 3 error entry 2 is in the position of entry 3: lines were moved or copied"},
		{"deep", join(1) + strings.Repeat("[", 30000) + "\n" + join(3, 4, 5), "2 error it is not an entry: invalid character '[' exceeded max depth"},
		{"one more, forged with care", whole + forged(t, line[4]), ""}, // the same as a line of a stopped process
	} {
		t.Run(c.name, func(t *testing.T) {
			put(t, l, File, []byte(c.log))
			rep := look(t, l)
			if got := list(rep); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if (rep.Err() != nil) != (c.want != "") || c.want != "" && diag.CodeOf(rep.Err()).Class() != diag.ClassIntegrity {
				t.Errorf("Err returns %v", rep.Err())
			}
		})
	}
}

// forged returns a valid next line.
func forged(t testing.TB, last string) string {
	t.Helper()
	e := made(1)[0]
	e.Seq, e.Time, e.Prev = 6, instant.Format(layout), chainlog.Digest([]byte(last))
	b, err := e.render()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestEveryBit flips every bit of a log, removes and copies every line and cuts
// it at every byte: every change is found.
func TestEveryBit(t *testing.T) {
	l := newLog(t)
	add(t, l, 4)
	whole := content(t, l)
	h, known, err := l.readHead()
	if err != nil || !known {
		t.Fatal(known, err)
	}
	shows := func(b []byte, what string, at int) {
		rep, err := l.read(t.Context(), bytes.NewReader(b), h, known, 1)
		if err != nil || rep.Err() == nil {
			t.Errorf("%s %d: %v, %s", what, at, err, list(rep))
		}
	}
	step := 1
	if testing.Short() {
		step = 7
	}
	for i := 0; i < len(whole); i += step {
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[i] ^= 1 << bit
			shows(b, "bit of byte", i)
		}
		shows(whole[:i], "cut at byte", i)
		shows(slices.Concat(whole[:i], whole[i+1:]), "without byte", i)
		shows(slices.Insert(bytes.Clone(whole), i, ' '), "blank before byte", i)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))[:4]
	for i := range lines {
		shows(bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil), "without line", i+1)
		for j := range lines {
			moved := slices.Clone(lines)
			moved[i], moved[j] = moved[j], moved[i]
			if i != j {
				shows(bytes.Join(moved, nil), "exchanged line", i+1)
			}
			if copied := slices.Insert(slices.Clone(lines), j, lines[i]); i != j || j != 3 {
				shows(bytes.Join(copied, nil), "copied line", i+1)
			}
		}
	}
}

// The report of a log of garbage is bounded.
func TestGarbage(t *testing.T) {
	l := newLog(t)
	add(t, l, 1)
	put(t, l, File, bytes.Repeat([]byte("\n"), 10_000))
	rep := look(t, l)
	if len(rep.Findings) != chainlog.MaxFaults+1 || rep.Findings[chainlog.MaxFaults].Message != "9950 more faults up to here are not listed" {
		t.Errorf("%d findings, the last: %v", len(rep.Findings), rep.Findings[len(rep.Findings)-1])
	}
}

// Without the head the removal of the last lines cannot be found, and the report
// has a warning.
func TestHeadRemoved(t *testing.T) {
	l := newLog(t)
	add(t, l, 3)
	if err := os.Remove(l.path(HeadFile)); err != nil {
		t.Fatal(err)
	}
	rep := look(t, l)
	if rep.Err() != nil || !strings.HasPrefix(list(rep), "3 warning it may not be the last one") {
		t.Errorf("%s", list(rep))
	}
}

// FuzzRead reads any log with any head. A chain without findings is valid by a
// second, simpler reading, and can be continued.
func FuzzRead(f *testing.F) {
	l := newLog(f)
	add(f, l, 3)
	whole := content(f, l)
	headText, err := os.ReadFile(l.path(HeadFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, headText)
	f.Add(whole[:len(whole)-3], headText)
	f.Add(whole[200:], headText)
	f.Add([]byte("\n\n{}\n"), []byte("{}"))
	f.Add([]byte{}, headText)
	f.Add(bytes.ToUpper(whole), []byte{})
	f.Fuzz(func(t *testing.T, log, text []byte) {
		h, known := format().ParseHead(text)
		rep, err := l.read(t.Context(), bytes.NewReader(log), h, known, 2)
		if err != nil || len(rep.Entries) > 2 || rep.Total < len(rep.Entries) {
			t.Fatalf("%+v, %v", rep, err)
		}
		for _, f := range rep.Findings {
			if f.Line < 1 || f.Code != diag.TranscriptBroken || f.Message == "" {
				t.Fatalf("finding %+v", f)
			}
		}
		if rep.Err() != nil {
			return
		}
		end := int64(bytes.LastIndexByte(log, '\n') + 1)
		simple(t, log[:end], rep.Total)
		if h, err := format().Follow(bytes.NewReader(log), format().Start()); err != nil || h.Size != end || h.Seq != int64(rep.Total) {
			t.Fatalf("it continues from %+v, %v", h, err)
		}
	})
}

// simple checks a chain in the simplest way.
func simple(t *testing.T, log []byte, want int) {
	t.Helper()
	prev, n := chainlog.Digest([]byte(genesis)), 0
	for line := range bytes.Lines(log) {
		n++
		if e, err := parse(line); err != nil || e.Seq != int64(n) || e.Prev != prev {
			t.Fatalf("line %d has no finding: %v", n, err)
		}
		prev = chainlog.Digest(line)
	}
	if n != want {
		t.Fatalf("%d entries, counted %d", want, n)
	}
}

// TestRandomDamage applies several changes at once: every changed log has a
// finding.
func TestRandomDamage(t *testing.T) {
	l := newLog(t)
	add(t, l, 6)
	whole := content(t, l)
	h, known, err := l.readHead()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		b := bytes.Clone(whole)
		for range 1 + r.IntN(4) {
			if len(b) == 0 {
				break
			}
			i := r.IntN(len(b))
			j := min(i+r.IntN(600), len(b))
			switch r.IntN(4) {
			case 0:
				b[i] ^= byte(1 << r.IntN(8))
			case 1:
				b = slices.Delete(b, i, j)
			case 2:
				b = slices.Insert(b, r.IntN(len(b)), bytes.Clone(b[i:j])...)
			default:
				lines := bytes.SplitAfter(b, []byte("\n"))
				r.Shuffle(len(lines), func(x, y int) { lines[x], lines[y] = lines[y], lines[x] })
				b = bytes.Join(lines, nil)
			}
		}
		rep, err := l.read(t.Context(), bytes.NewReader(b), h, known, 1)
		if err != nil {
			t.Fatal(err)
		}
		// After the end that the head records an unfinished line is permitted.
		if rep.Err() == nil && !bytes.HasPrefix(b, whole) {
			t.Fatalf("this passes:\n%s", b)
		}
	}
}
