package legacy

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// answer is what the rules find in a file.
type answer struct {
	Line   int      `json:"line"`
	Fields []string `json:"fields"`
	Hash   *string  `json:"hash"`
}

func ourAnswer(kind string, file []byte) *answer {
	v := Check(kind, file, nil)
	text := universal(string(file))
	l, ok := find(kind, text)
	if v.Reason == "the file is not UTF-8" || !ok {
		return nil
	}
	a := &answer{Line: l.Number, Fields: []string{l.Time, l.Hash, l.Sig, l.Key, l.Provider, l.User}}
	if content, ok := covered(kind, text); ok {
		sum := sumOf(content)
		a.Hash = &sum
	}
	return a
}

// pieces are what random files are made of.
func pieces() []string {
	line := fieldsOf(strings.Repeat("ab", 32))
	return []string{
		"# " + line, "<!-- " + line + " -->", "// " + line, "# " + line + "|a@b-_", "<!-- " + line + "|a@b -->", "<!-- " + line + "|a b -->",
		"# " + line[:len(line)-1], "# " + strings.ToUpper(line), "<!-- " + line, "# kiwi-mcp:validated:x", "<!-- kiwi-mcp:signed:x -->", "# rye:validated:x",
		"<!-- rye:signed:>-->", "#!/bin/sh", "#! /bin/sh", "\n", "\r\n", "\r", "\n\n", "---", "----", "--", "<directive>", "<directive a='", "'>", "</directive>",
		"<directives>", "</directive", "```xml", "```", "text", " ", "\t", "\v\f", "\x1c", "\x1d", "\x1e", "\x1f", "\u0085", "\u00a0", "\u1680", "\u180e", "\u2000", "\u200b",
		"\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff", "\x00", "\xff", "\u0664", "title: x",
	}
}

// TestReference compares the rules with a second writing of them, in the
// language they come from, on random files.
func TestReference(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("this machine has no python3")
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	parts := pieces()
	kinds := []string{"tool", "directive", "knowledge"}
	type question struct {
		kind string
		file []byte
	}
	var in bytes.Buffer
	var asked []question
	for range 20_000 {
		kind := kinds[rnd.IntN(len(kinds))]
		var file bytes.Buffer
		if rnd.IntN(4) > 0 { // most begin as a signed file may
			file.WriteString([]string{"", "", "#!/usr/bin/env x\n", "#!/bin/sh\r", "#!/bin/sh\r\n"}[rnd.IntN(5)])
			file.WriteString(parts[rnd.IntN(6)] + []string{"\n", "\r\n", "\r", "", " junk\n"}[rnd.IntN(5)])
		}
		for range rnd.IntN(14) {
			file.WriteString(parts[rnd.IntN(len(parts))])
		}
		asked = append(asked, question{kind, file.Bytes()})
		line, _ := json.Marshal(map[string]string{"kind": kind, "text": hex.EncodeToString(file.Bytes())})
		in.Write(append(line, '\n'))
	}
	cmd := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "reference.py"))
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	found, wrong := 0, 0
	for _, q := range asked {
		var want *answer
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if want != nil {
			found++
		}
		if got := ourAnswer(q.kind, q.file); !reflect.DeepEqual(got, want) && wrong < 5 {
			wrong++
			t.Errorf("%s %q\n got %s\nwant %s", q.kind, q.file, show(got), show(want))
		}
	}
	if found < len(asked)/8 || found == len(asked) {
		t.Errorf("%d of %d files carried a signature", found, len(asked))
	}
}

func show(a *answer) string {
	b, _ := json.Marshal(a)
	return string(b)
}

// FuzzCheck holds that no file is good without a signature of the key over
// what is covered, and that nothing crashes.
func FuzzCheck(f *testing.F) {
	for _, p := range pieces() {
		f.Add("tool", []byte(p+"\nx"))
	}
	for _, kind := range []string{"tool", "directive", "knowledge"} {
		f.Add(kind, []byte(over("<!-- @ -->\n---\n---\n"+element1, element1)))
		f.Add(kind, []byte(over("#!/bin/sh\r# @\r"+element1, element1)))
	}
	keys := keysOf(f, 6)
	f.Fuzz(func(t *testing.T, kind string, file []byte) {
		v := Check(kind, file, keys)
		if v.Reason == "" {
			t.Errorf("no reason for %s", v.Outcome)
		}
		lines := 1 + strings.Count(universal(string(file)), "\n")
		for _, p := range v.Uncovered {
			if p.Line < 1 || p.Line > lines {
				t.Errorf("part at line %d of %d: %s", p.Line, lines, p.What)
			}
		}
		if v.Outcome != Good {
			return
		}
		// A covered byte that changes is noticed: the content is one line more.
		content, ok := covered(kind, universal(string(file)))
		if !ok || sumOf(content) != v.Line.Hash || !verifies(keys[0].Public, v.Line) {
			t.Errorf("%q is good", file)
		}
	})
}
