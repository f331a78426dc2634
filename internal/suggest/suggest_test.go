package suggest

import (
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	verbs := []string{"sign", "verify", "search", "show", "run", "lock", "list", "init", "graph"}
	for word, want := range map[string]string{
		"sing": "sign", "verfiy": "verify", "serach": "search", "Verify": "verify", "ver": "verify", "lok": "lock",
		"rnu": "run", "xyz": "", "": "", "r": "", "sign": "", "completely": "", "grahp": "graph",
	} {
		if got := Nearest(word, verbs); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Nearest("dryrun", []string{"dry_run", "run"}); got != "dry_run" {
		t.Errorf("got %q", got)
	}
	if got := Nearest("größe", []string{"grösse", "gruss"}); got != "grösse" {
		t.Errorf("got %q", got)
	}
	if got := Nearest(strings.Repeat("a", 1<<20), []string{strings.Repeat("a", 1<<20) + "b"}); got != "" {
		t.Error("huge words are compared")
	}
}

func TestListOrder(t *testing.T) {
	in := []string{"tool_b", "tool_a", "tool", "toll_a", "tool_a"}
	want := []string{"tool_a", "tool_b", "tool"}
	for range 3 {
		slices.Reverse(in)
		if got := List("tool_", in, 3); !slices.Equal(got, want) {
			t.Fatalf("List = %q", got)
		}
	}
	if got := List("tool_", in, 9); !slices.Equal(got, List("tool_", []string{"tool", "toll_a", "tool_b", "tool_a"}, 9)) {
		t.Errorf("order of candidates shows: %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"ab", "ba", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3}, {"same", "same", 0}} {
		if got := distance([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance([]rune(c.b), []rune(c.a)); got != c.want {
			t.Errorf("distance is not symmetric for %q, %q", c.a, c.b)
		}
	}
}
