package dialog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/inline"
	"github.com/ryeos/rye/internal/termkeys"
)

// Keys are the keys of a terminal.
type Keys interface {
	Read(ctx context.Context) ([]termkeys.Key, error)
	Discard()
}

// Screen is a terminal that a question is drawn on.
type Screen struct {
	In    Keys
	Out   io.Writer
	Size  func() (columns, rows int)
	Guard time.Duration // after a question is drawn, in which keys decide nothing
	Bell  string        // is written when a question opens

	mu    sync.Mutex
	q     *Question
	began time.Time
	shown bool   // the end of the text
	foot  string // the last line, which is drawn again
}

// erase goes to the beginning of the line and removes it.
const erase = "\r\x1b[K"

// Ask draws a question and returns the choice of the person. The error is ctx.Err() if ctx
// ends first, or ErrLeft.
func (s *Screen) Ask(ctx context.Context, q *Question) (Answer, error) {
	s.q, s.began = q, time.Now()
	s.draw()
	a, err := s.answer(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.foot = ""
	var other Elsewhere
	switch {
	case err == nil:
		fmt.Fprint(s.Out, erase+s.fit(s.chosen(a))+"\n")
	case errors.As(context.Cause(ctx), &other):
		fmt.Fprint(
			s.Out,
			erase+s.fit(hidden.Visible(other.Error()))+"\n",
		)
	case errors.Is(err, termkeys.ErrClosed):
		fmt.Fprint(s.Out, erase+"left open\n")
		err = ErrLeft
	default:
		fmt.Fprint(s.Out, "\n")
	}
	return a, err
}

// Print writes lines above the question that is open.
func (s *Screen) Print(write func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.foot != "" {
		fmt.Fprint(s.Out, erase)
	}
	write()
	if s.foot != "" {
		fmt.Fprint(s.Out, s.foot)
	}
}

// chosen describes an answer.
func (s *Screen) chosen(a Answer) string {
	for i := range s.q.Choices {
		c := &s.q.Choices[i]
		if c.Key == a.Key {
			text := hidden.Visible(c.Label)
			if a.Text != "" {
				text += ": " + hidden.Visible(a.Text)
			}
			return text
		}
	}
	return hidden.Visible(a.Text)
}

// draw prints the question. A text that does not fit on the screen is cut: d prints all of it.
func (s *Screen) draw() {
	columns, rows := s.size()
	text := fold(lines(s.q.Text), columns-3)
	cut := 0
	if most := max(rows-6, 3); len(text) > most {
		text, cut = text[:most-1], len(text)-most+1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprint(s.Out, s.Bell)
	for _, l := range fold([]string{"rye asks  " + s.q.head()}, columns-1) {
		fmt.Fprintln(s.Out, l)
	}
	for _, l := range text {
		fmt.Fprintln(s.Out, "  "+l)
	}
	if s.shown = cut == 0; cut > 0 {
		fmt.Fprintf(s.Out, "  … %d more lines: d shows them\n", cut)
	}
	s.offers(columns)
}

// offers prints the keys, and the line that counts the time. The caller has the lock.
func (s *Screen) offers(columns int) {
	var parts []string
	for i := range s.q.Choices {
		c := &s.q.Choices[i]
		parts = append(parts, s.q.key(c)+" "+hidden.Visible(c.Label))
	}
	if s.q.Details != nil {
		parts = append(parts, "d details")
	}
	if len(s.q.Choices) > 0 {
		parts = append(parts, "? help")
	}
	line := ""
	for _, p := range parts {
		if line != "" && inline.Width(line)+3+inline.Width(p) > columns-1 {
			fmt.Fprintln(s.Out, line)
			line = ""
		}
		if line != "" {
			line += "   "
		}
		line += p
	}
	if inline.Width(line)+20 > columns {
		fmt.Fprintln(s.Out, line)
		line = ""
	}
	s.foot = line
	s.count()
}

// count draws the last line. The caller has the lock.
func (s *Screen) count() {
	open := time.Since(s.began).Round(time.Second)
	line := fmt.Sprintf(
		"waiting %d:%02d",
		int(open.Minutes()),
		int(open.Seconds())%60,
	)
	keys, _, _ := strings.Cut(s.foot, "      waiting ")
	if keys != "" && !strings.HasPrefix(keys, "waiting ") {
		line = keys + "      " + line
	}
	s.foot = line
	fmt.Fprint(s.Out, erase+s.fit(line))
}

// below prints lines under the question, and the keys again.
func (s *Screen) below(text ...string) {
	columns, _ := s.size()
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprint(s.Out, erase)
	for _, l := range fold(text, columns-1) {
		fmt.Fprintln(s.Out, l)
	}
	s.offers(columns)
}

// answer reads keys until one is an answer.
func (s *Screen) answer(ctx context.Context) (Answer, error) {
	if err := s.wait(ctx); err != nil {
		return Answer{}, err
	}
	if s.q.Check != nil && len(s.q.Choices) == 0 {
		return s.line(ctx)
	}
	for {
		key, err := s.key(ctx)
		if err != nil {
			return Answer{}, err
		}
		switch c := s.q.choice(string(key)); {
		case key == termkeys.End:
			return Answer{}, termkeys.ErrClosed
		case key == termkeys.Escape && s.q.Escape == 0:
			return Answer{}, termkeys.ErrClosed
		case key == termkeys.Escape:
			return Answer{Key: s.q.Escape, Stop: true}, nil
		case key == '?':
			s.below(s.q.help()...)
		case unicode.ToLower(rune(key)) == 'd' && s.q.Details != nil:
			if err := s.details(ctx); err != nil {
				return Answer{}, err
			}
		case c == nil || unicode.ToLower(c.Key) != unicode.ToLower(rune(key)):
		case c.Permits && !s.shown:
			s.below("The text is longer than the screen: d shows its end.")
		default:
			a, ok, err := s.take(ctx, c)
			if err != nil || ok {
				return a, err
			}
			s.below()
		}
	}
}

// wait discards everything that is typed before the person can have read the question.
func (s *Screen) wait(ctx context.Context) error {
	if s.Guard <= 0 {
		return nil
	}
	guard, cancel := context.WithTimeout(ctx, s.Guard)
	defer cancel()
	for guard.Err() == nil {
		_, err := s.In.Read(guard)
		if err != nil && guard.Err() == nil {
			return err
		}
	}
	s.In.Discard()
	return ctx.Err()
}

// line reads lines until one is an answer.
func (s *Screen) line(ctx context.Context) (Answer, error) {
	for {
		text, ok, err := s.edit(ctx, "> ", "")
		switch {
		case err != nil:
			return Answer{}, err
		case !ok:
			return Answer{}, termkeys.ErrClosed
		}
		why := s.q.Check(text)
		if why == "" {
			return Answer{Text: text}, nil
		}
		s.below("This is not an answer: " + hidden.Visible(why))
	}
}

// take asks what a choice needs in addition to its key. ok is false if the person goes back.
func (s *Screen) take(ctx context.Context, c *Choice) (a Answer, ok bool, err error) {
	a.Key = c.Key
	word := c.Permits && s.q.Word != ""
	if c.Confirm != "" && !word {
		columns, _ := s.size()
		s.page(fold([]string{hidden.Visible(c.Confirm)}, columns-1), "y permits it, any other key goes back")
		key, err := s.key(ctx)
		if err == nil && key == termkeys.End {
			err = termkeys.ErrClosed
		}
		return a, err == nil && unicode.ToLower(rune(key)) == 'y', err
	}
	if word {
		if c.Confirm != "" {
			s.below(hidden.Visible(c.Confirm))
		}
		begin := ""
		if strings.HasPrefix(s.q.Word, string(c.Key)) {
			begin = string(c.Key)
		}
		text, ok, err := s.edit(ctx, "Type "+s.q.Word+" and Enter, Esc goes back: ", begin)
		return a, ok && strings.EqualFold(strings.TrimSpace(text), s.q.Word), err
	}
	if c.Line != "" {
		a.Text, ok, err = s.edit(ctx, c.Line, "")
		a.Text = strings.TrimSpace(a.Text)
		return a, ok, err
	}
	return a, true, nil
}

// details prints the details, a screen at a time.
func (s *Screen) details(ctx context.Context) error {
	columns, rows := s.size()
	text := fold(
		append(
			lines(s.q.Text),
			lines(strings.Join(s.q.Details, "\n"))...,
		),
		columns-1,
	)
	for page := max(rows-2, 3); len(text) > page; text = text[page:] {
		s.page(text[:page], fmt.Sprintf("-- %d more lines: Space shows them, q ends --", len(text)-page))
		for {
			key, err := s.key(ctx)
			if err != nil {
				return err
			}
			if key == 'q' || key == termkeys.Escape {
				s.below()
				return nil
			}
			if key == ' ' || key == termkeys.Enter {
				break
			}
		}
	}
	s.shown = true
	s.below(text...)
	return nil
}

func (s *Screen) page(text []string, foot string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprint(s.Out, erase+strings.Join(text, "\n")+"\n")
	s.foot = s.fit(foot)
	fmt.Fprint(s.Out, s.foot)
}

// key returns the next key that was pressed alone, and counts the time until then. Several keys
// at once are a pasted text, which decides nothing.
func (s *Screen) key(ctx context.Context) (termkeys.Key, error) {
	for {
		second, cancel := context.WithTimeout(ctx, time.Second)
		keys, err := s.In.Read(second)
		late := second.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case late && len(keys) == 0:
			s.mu.Lock()
			if strings.Contains(s.foot, "waiting ") {
				s.count()
			}
			s.mu.Unlock()
		case err != nil:
			return 0, err
		case len(keys) == 1:
			return keys[0], nil
		}
	}
}

// edit reads a line. ok is false after Esc.
func (s *Screen) edit(
	ctx context.Context,
	prompt, text string,
) (line string, ok bool, err error) {
	for {
		s.editor(prompt, text)
		keys, err := s.In.Read(ctx)
		if err != nil {
			return "", false, err
		}
		for _, k := range keys {
			switch {
			case k == termkeys.Enter:
				s.mu.Lock()
				fmt.Fprint(s.Out, erase+s.fit(prompt+text)+"\n")
				s.foot = ""
				s.mu.Unlock()
				return text, true, nil
			case k == termkeys.Escape:
				return "", false, nil
			case k == termkeys.End && text == "":
				return "", false, termkeys.ErrClosed
			case k == termkeys.Backspace:
				_, n := utf8.DecodeLastRuneInString(text)
				text = text[:len(text)-n]
			case k == termkeys.EraseLine:
				text = ""
			case k == termkeys.EraseWord:
				text = strings.TrimRight(text, " ")
				text = text[:strings.LastIndexByte(text, ' ')+1]
			case k > 0 && unicode.IsPrint(rune(k)):
				text += string(rune(k))
			}
		}
	}
}

// editor draws the end of a line that is typed.
func (s *Screen) editor(prompt, text string) {
	columns, _ := s.size()
	s.mu.Lock()
	defer s.mu.Unlock()
	line := prompt + text
	for inline.Width(line) > columns-1 {
		_, n := utf8.DecodeRuneInString(line)
		line = line[n:]
	}
	s.foot = line
	fmt.Fprint(s.Out, erase+s.foot)
}

func (s *Screen) size() (columns, rows int) {
	if columns, rows = s.Size(); columns < 20 {
		columns = 80
	}
	if rows < 4 {
		rows = 24
	}
	return columns, rows
}

// fit cuts a line to the screen, so that it can be erased.
func (s *Screen) fit(line string) string {
	columns, _ := s.size()
	return inline.Cut(line, columns-1)
}

// fold breaks lines at blanks, so that each has at most width columns.
func fold(text []string, width int) (out []string) {
	for _, l := range text {
		for {
			n := within(l, width)
			if n == len(l) {
				out = append(out, l)
				break
			}
			blank := strings.LastIndexByte(l[:n+1], ' ')
			if blank > n/2 {
				n = blank
			}
			out = append(out, l[:n])
			l = strings.TrimLeft(l[n:], " ")
		}
	}
	return out
}

// within returns the bytes of the characters that fit into width columns, at least one character.
func within(l string, width int) int {
	columns := 0
	for i, r := range l {
		if columns += inline.Width(string(r)); columns > width && i > 0 {
			return i
		}
	}
	return len(l)
}
