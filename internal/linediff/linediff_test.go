package linediff

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestUnified(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"equal":         {"a\n", "a\n", ""},
		"both empty":    {"", "", ""},
		"created":       {"", "a\nb\n", "--- o\n+++ n\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"emptied":       {"a\n", "", "--- o\n+++ n\n@@ -1,1 +0,0 @@\n-a\n"},
		"one line":      {"a\nb\nc\n", "a\nX\nc\n", "--- o\n+++ n\n@@ -1,3 +1,3 @@\n a\n-b\n+X\n c\n"},
		"newline lost":  {"a\n", "a", "--- o\n+++ n\n@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		"newline added": {"a", "a\n", "--- o\n+++ n\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		"crlf":          {"a\r\nb\r\n", "a\r\nc\r\n", "--- o\n+++ n\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"},
		"context cut":   {"1\n2\n3\n4\n5\n", "1\n2\n3\n4\nX\n", "--- o\n+++ n\n@@ -2,4 +2,4 @@\n 2\n 3\n 4\n-5\n+X\n"},
	} {
		if got := Unified("o", "n", []byte(c.old), []byte(c.new)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestUnifiedSeparatesFarHunks(t *testing.T) {
	var a, b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&a, "l%d\n", i)
		switch i {
		case 5, 11, 30: // 5 and 11 share a hunk, 30 has its own
			fmt.Fprintf(&b, "changed%d\n", i)
		default:
			fmt.Fprintf(&b, "l%d\n", i)
		}
	}
	got := Unified("o", "n", []byte(a.String()), []byte(b.String()))
	if n := strings.Count(got, "\n@@ "); n != 2 {
		t.Fatalf("%d hunks, want 2:\n%s", n, got)
	}
}

// TestUnifiedApplies applies the difference to the old text and compares the
// result with the new one.
func TestUnifiedApplies(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		old, new := randomText(rnd), ""
		if i%3 == 0 {
			new = randomText(rnd)
		} else {
			new = mutate(rnd, old)
		}
		checkApplies(t, old, new)
	}
}

func FuzzUnified(f *testing.F) {
	f.Add("a\nb\nc", "a\nc\n")
	f.Add("", "\r\n\r\n")
	f.Add("x\n\n\n\ny", "\n\n\nx\ny\n\n")
	f.Fuzz(func(t *testing.T, old, new string) { checkApplies(t, old, new) })
}

func checkApplies(t *testing.T, old, new string) {
	t.Helper()
	d := Unified("o", "n", []byte(old), []byte(new))
	got, err := apply(old, d)
	if err != nil || got != new {
		t.Fatalf("old %q new %q: diff\n%s\ngives %q, %v", old, new, d, got, err)
	}
}

func randomText(rnd *rand.Rand) string {
	var b strings.Builder
	for range rnd.IntN(30) {
		b.WriteString(string(rune('a' + rnd.IntN(4))))
		b.WriteByte('\n')
	}
	s := b.String()
	if rnd.IntN(4) == 0 {
		s = strings.TrimSuffix(s, "\n")
	}
	return s
}

func mutate(rnd *rand.Rand, s string) string {
	lines := strings.SplitAfter(s, "\n")
	for range 1 + rnd.IntN(3) {
		i := rnd.IntN(len(lines))
		switch rnd.IntN(3) {
		case 0:
			lines[i] = "changed\n"
		case 1:
			lines[i] += "added\n"
		default:
			lines[i] = ""
		}
	}
	return strings.Join(lines, "")
}

// apply is a strict patcher, written for the test from the format alone.
func apply(old, diff string) (string, error) {
	if diff == "" {
		return old, nil
	}
	src := strings.SplitAfter(old, "\n")
	if src[len(src)-1] == "" {
		src = src[:len(src)-1]
	}
	var out strings.Builder
	at, sign := 0, byte(0)
	var pending string
	flush := func() { out.WriteString(pending); pending = "" }
	for _, l := range strings.SplitAfter(diff, "\n")[2:] {
		if l == "" {
			break
		}
		switch l[0] {
		case '@':
			flush()
			head := strings.Fields(l)[1]
			start, count, found := strings.Cut(head[1:], ",")
			n, err := strconv.Atoi(start)
			if err != nil {
				return "", err
			}
			if !found || count != "0" {
				n--
			}
			for at < n {
				out.WriteString(src[at])
				at++
			}
		case '\\':
			if sign != '-' {
				pending = strings.TrimSuffix(pending, "\n")
			}
		case ' ', '-':
			flush()
			if at >= len(src) || strings.TrimSuffix(src[at], "\n") != strings.TrimSuffix(l[1:], "\n") {
				return "", fmt.Errorf("line %d is not %q", at, l)
			}
			at++
			if l[0] == ' ' {
				pending = l[1:]
			}
		case '+':
			flush()
			pending = l[1:]
		default:
			return "", fmt.Errorf("unexpected line %q", l)
		}
		sign = l[0]
	}
	flush()
	for ; at < len(src); at++ {
		out.WriteString(src[at])
	}
	return out.String(), nil
}

// TestGitApplies applies differences with git, if it is installed.
func TestGitApplies(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 25 {
		old := "first\n" + randomText(rnd)
		new := mutate(rnd, old)
		if old == new || new == "" {
			continue
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, []byte(old), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(git, "apply", "--unidiff-zero", "-")
		cmd.Dir = dir
		cmd.Stdin = strings.NewReader(Unified("a/f", "b/f", []byte(old), []byte(new)))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git apply: %v\n%s", err, out)
		}
		got, _ := os.ReadFile(file)
		if string(got) != new {
			t.Fatalf("git made %q, want %q", got, new)
		}
	}
}
