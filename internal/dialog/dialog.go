// Package dialog asks a person at a terminal: with single keys, or with words where the
// terminal only appends lines. Only the keys and words of a choice are an answer. A key that was
// pressed before the question could be read decides nothing, and the end of the input leaves
// the question open.
//
// It does not know what the answers mean, and records none.
package dialog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/hidden"
)

// ErrLeft means that the person left without an answer: the question stays open.
var ErrLeft = errors.New("the question was left open")

// Question is a question to a person. Items and models write its texts: hidden characters are
// shown.
type Question struct {
	From    string // what asks
	Why     string // the reason, on one line
	Text    string
	Details []string // what d prints, nil without details
	Choices []Choice
	// Word must be typed for a choice that permits, "" if its key is enough.
	Word string
	// Escape is the key of the choice that Esc makes, 0 if Esc leaves the question open.
	Escape rune
	// Check returns why a line is not an answer, "" if it is. With it any line can be one.
	Check func(line string) string
	// Queue returns the number of the question and of all that are open, nil for one.
	Queue func() (at, of int)
}

// Choice is an answer that a question offers.
type Choice struct {
	Key   rune
	Label string
	Help  string
	Words []string // that a person types in place of the key
	// Permits states that something may happen then: a text that does not fit on the screen
	// must have been shown.
	Permits bool
	Confirm string // a second question, whose answer y makes the choice
	Line    string // asks for a line that goes with the choice
}

// Answer is the choice of a person.
type Answer struct {
	Key  rune   // of the choice, 0 for a line
	Text string // the line
	Stop bool   // it was made with Esc
}

// Elsewhere is the cause of the end of a question that another surface answered. Its text
// describes the answer.
type Elsewhere interface {
	error
	AnsweredElsewhere()
}

// choice returns the choice of a key or of a word, nil without one.
func (q *Question) choice(text string) *Choice {
	for i := range q.Choices {
		c := &q.Choices[i]
		if strings.EqualFold(text, string(c.Key)) ||
			slices.ContainsFunc(c.Words, func(w string) bool { return strings.EqualFold(w, text) }) {
			return c
		}
	}
	return nil
}

// head returns the first line of a question.
func (q *Question) head() string {
	parts := []string{q.From, q.Why}
	if q.Queue != nil {
		if at, of := q.Queue(); of > 1 {
			parts = append(parts, fmt.Sprintf("%d of %d", at, of))
		}
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return hidden.Visible(strings.Join(parts, "  "))
}

// lines returns the text of a question as lines that steer no terminal.
func lines(text string) []string {
	out := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range out {
		out[i] = hidden.Visible(out[i])
	}
	return out
}

// Words asks in lines: ask prints a prompt and returns the line that was typed after it. A line
// that is not an answer asks again.
func Words(
	ctx context.Context,
	ask func(prompt string) (string, error),
	q *Question,
) (Answer, error) {
	var b strings.Builder
	b.WriteString("Question: " + q.head() + "\n")
	for _, l := range lines(q.Text) {
		b.WriteString("  " + l + "\n")
	}
	offer := q.offer()
	prompt := b.String() + offer
	for ctx.Err() == nil {
		line, err := ask(prompt + "Answer: ")
		if err != nil {
			return Answer{}, err
		}
		word, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		c := q.choice(line)
		if c == nil && rest != "" {
			if c = q.choice(word); c != nil && c.Line == "" {
				c = nil
			}
		}
		prompt = offer
		switch {
		case c != nil && c.Permits && q.Word != "" && c.Confirm == "" && !strings.EqualFold(line, q.Word) && c == q.choice(q.Word):
			prompt = "This needs the word " + q.Word + ".\n" + offer
		case c != nil:
			ok, err := confirmed(ask, q, c, line)
			if err != nil || ok {
				return Answer{Key: c.Key, Text: rest}, err
			}
		case strings.EqualFold(line, "d") && q.Details != nil:
			prompt = strings.Join(lines(strings.Join(q.Details, "\n")), "\n") + "\n" + offer
		case line == "?":
			prompt = strings.Join(q.help(), "\n") + "\n" + offer
		case q.Check != nil:
			why := q.Check(line)
			if why == "" {
				return Answer{Text: line}, nil
			}
			prompt = "This is not an answer: " + hidden.Visible(why) + ".\n" + offer
		default:
			prompt = "This is not an answer.\n" + offer
		}
	}
	return Answer{}, ctx.Err()
}

// confirmed asks the second question of a choice.
func confirmed(
	ask func(string) (string, error),
	q *Question,
	c *Choice,
	line string,
) (bool, error) {
	word := "y"
	if q.Word != "" {
		word = q.Word
	}
	if c.Confirm == "" &&
		(q.Word == "" || !c.Permits || strings.EqualFold(line, q.Word)) {
		return true, nil
	}
	prompt := "Type " + word + " to permit it, anything else goes back.\nAnswer: "
	if c.Confirm != "" {
		prompt = hidden.Visible(c.Confirm) + "\n" + prompt
	}
	second, err := ask(prompt)
	return err == nil &&
		(strings.EqualFold(second, word) || q.Word == "" && strings.EqualFold(second, "yes")), err
}

// offer states what can be typed.
func (q *Question) offer() string {
	var out []string
	for i := range q.Choices {
		c := &q.Choices[i]
		out = append(out, q.key(c)+" ("+hidden.Visible(c.Label)+")")
	}
	if q.Details != nil {
		out = append(out, "d (details)")
	}
	if len(q.Choices) > 0 {
		out = append(out, "? (help)")
	}
	switch {
	case len(out) == 0:
		return ""
	case q.Check != nil:
		return "Type a line, or " + strings.Join(out, ", ") + ".\n"
	}
	return "Type " + strings.Join(out, ", ") + ".\n"
}

// key returns the key that a person types for a choice.
func (q *Question) key(c *Choice) string {
	if q.Word != "" && c.Permits && slices.Contains(c.Words, q.Word) {
		return q.Word
	}
	return string(c.Key)
}

// help describes each key.
func (q *Question) help() []string {
	var out []string
	for i := range q.Choices {
		c := &q.Choices[i]
		text := c.Help
		if text == "" {
			text = c.Label
		}
		out = append(out, fmt.Sprintf("  %-4s%s", q.key(c), hidden.Visible(text)))
	}
	if q.Details != nil {
		out = append(out, "  d   the full text and what the call would use")
	}
	return out
}
