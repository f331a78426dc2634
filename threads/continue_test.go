package threads

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/threads/message"
)

// Whatever the bound is, the carried turns are the newest ones, each whole: an answer with
// the results of all its calls. They fit the bound, and the next older one would not.
func TestTrailingTurnsAreWhole(t *testing.T) {
	th := newThread("work-1", Params{Services: []*Service{{}}})
	for i := range 6 {
		call := func(n int) message.Block {
			return message.Block{Type: message.ToolCall, ID: fmt.Sprintf("c%d_%d", i, n), Name: "read", Input: json.RawMessage(`{}`)}
		}
		blocks := []message.Block{{Type: message.Reasoning, Raw: json.RawMessage(`{"secret":"thought"}`)}, message.TextBlock(fmt.Sprintf("answer %d", i)), call(1), call(2)}
		th.entries = append(th.entries, entry{answer: &answer{resp: message.Response{Blocks: blocks}}})
		for n := 1; n < 3; n++ {
			th.results[fmt.Sprintf("c%d_%d", i, n)] = &recordedResult{content: []message.Block{message.TextBlock(strings.Repeat("x", 40*(i+1)))}}
		}
		th.entries = append(th.entries, entry{message: message.Message{Role: message.User, Blocks: []message.Block{message.TextBlock(fmt.Sprintf("note %d", i))}}})
	}
	size := func(list []message.Message) int64 {
		b, err := jsonx.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return int64(len(b)+3) / 4
	}
	_, _, all := th.trailing(1 << 40)
	seen := map[int64]bool{}
	for most := int64(0); most < size(all)+50; most += 3 {
		turns, _, got := th.trailing(most)
		seen[turns] = true
		if len(got) != int(turns)*2 || len(got) > 0 && size(got) > most+turns {
			t.Fatalf("%d tokens: %d turns, %d messages of %d tokens", most, turns, len(got), size(got))
		}
		first := 6 - int(turns)
		text, _ := jsonx.Marshal(got)
		for i := range 6 {
			in := i >= first
			for _, part := range []string{fmt.Sprintf("answer %d", i), fmt.Sprintf("note %d", i), fmt.Sprintf(`"c%d_1"`, i), fmt.Sprintf(`"c%d_2"`, i)} {
				if strings.Contains(string(text), part) != in {
					t.Fatalf("%d tokens: %s is carried: %v", most, part, !in)
				}
			}
		}
		for i, m := range got {
			if want := [...]message.Role{message.Assistant, message.User}[i%2]; m.Role != want {
				t.Fatalf("message %d is of %s", i, m.Role)
			}
		}
		if strings.Contains(string(text), "thought") {
			t.Fatal("reasoning is carried")
		}
	}
	if len(seen) != 7 {
		t.Errorf("the bounds gave %v turns", seen)
	}
}
