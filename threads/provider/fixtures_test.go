package provider

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/threads/message"
)

// TestFixtures feeds recorded answers of many services, below the directory in RYE_FIXTURES,
// to the codecs: the streams of a public SDK (*.chunks.txt with one event a line, *.sse) and
// its whole bodies (*.json). Each is read, or refused with the error of the service or a
// reason, and none reads otherwise than by the second reader. The files are not part of this
// repository. It prints one line for each file and the sums.
func TestFixtures(t *testing.T) {
	root := os.Getenv("RYE_FIXTURES")
	if root == "" {
		t.Skip("RYE_FIXTURES names no directory")
	}
	sums := map[string]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() { // a checkout has links
			return err
		}
		if !strings.HasSuffix(path, ".chunks.txt") && !strings.HasSuffix(path, ".json") {
			return nil // source that quotes parts of answers
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		dialect, stream := fixture(rel, string(raw))
		if dialect == "" {
			sums["other formats"]++
			return nil
		}
		outcome := readFixture(t, rel, dialect, stream)
		t.Logf("%-20s %-60s %s", dialect, filepath.Base(rel), outcome)
		word, _, _ := strings.Cut(outcome, ":")
		sums[dialect+" "+word]++
		sums["all "+word]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range sortedKeys(sums) {
		t.Logf("%5d %s", sums[key], key)
	}
}

// fixture returns the dialect and the bytes of a recorded answer; no dialect for a file of
// another format.
func fixture(path, text string) (dialect, stream string) {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	head := text
	if strings.HasSuffix(path, ".chunks.txt") {
		head = first
	}
	switch {
	case strings.Contains(head, `"object":"chat.completion`), strings.Contains(head, `"object": "chat.completion`):
		dialect = Chat
	case strings.Contains(head, `"type":"response.`), strings.Contains(head, `"object":"response"`), strings.Contains(head, `"object": "response"`):
		dialect = Responses
	case strings.Contains(head, `"type":"message_start"`), strings.Contains(head, `"type":"message"`) && strings.Contains(head, `stop_reason`), strings.Contains(head, `"type": "message"`) && strings.Contains(head, `stop_reason`):
		dialect = Anthropic
	case strings.Contains(head, `"candidates"`):
		dialect = Gemini
	default:
		return "", ""
	}
	if !strings.HasSuffix(path, ".chunks.txt") {
		return dialect, text
	}
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		b.WriteString("data: " + line + "\n\n")
	}
	if dialect == Chat && !strings.Contains(text, doneMark) {
		b.WriteString("data: " + doneMark + "\n\n") // the SDK leaves it out of its files
	}
	return dialect, b.String()
}

func readFixture(t *testing.T, path, dialect, stream string) string {
	t.Helper()
	s := map[string]sample{Chat: samples()["chat"], Responses: samples()["responses"], Anthropic: samples()["anthropic"], Gemini: samples()["gemini"]}[dialect]
	c := mustParse(t, s.item)
	req := ask(s.model)
	req.MaxOutput = 1 << 20 // recorded answers are longer than the maximum of the samples
	r, odd, err := fed(c, stream).Probe(t.Context(), req)
	var f *Failure
	switch {
	case errors.As(err, &f) && f.Reason == "" && f.Message != "" && strings.Contains(stream, firstWords(f.Message)):
		return "error of the service: " + f.Message
	case err != nil:
		return "refused: " + err.Error()
	}
	if d := differs(c, stream, r); d != "" {
		t.Errorf("%s: %s", path, d)
		return "differs: " + d
	}
	if r.Stop == message.StopRefusal {
		return "refusal of the model: " + r.StopRaw
	}
	return fmt.Sprintf("read: %d calls, %d bytes of text, %s %v", len(r.Calls()), len(r.Text()), r.Stop, odd)
}

// firstWords returns the beginning of a message, which the file contains as it is.
func firstWords(s string) string {
	return s[:min(len(s), 20)]
}
