package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/internal/testing/bench/rulemodel"
	"github.com/ryeos/rye/threads/provider/scripted"
)

// follower is a model that reads files from their start to their end: it does what the notes of
// the results state, and nothing else.
type follower struct {
	files []string

	mu   sync.Mutex
	read map[string]string // the text of each file, as it was put together
	bad  string
}

// cmdFollowServe starts a model that reads files: followserve DIALECT FILE…. A file with the
// prefix bash: is read by cat. MODEL_URL is its address.
func cmdFollowServe(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) > 1, "followserve DIALECT FILE…")
	f := &follower{files: args[1:], read: map[string]string{}}
	m := rulemodel.New(args[0], rulemodel.Marked{Rule: f.answer})
	m.AcceptAll()
	server := httptest.NewServer(m)
	ts.Defer(server.Close)
	ts.Setenv("MODEL_URL", server.URL)
	following.Store(ts.Getenv("WORK"), f)
}

// following has the follower of each script by its directory.
var following sync.Map

// cmdFollowed fails unless the model read a file as it is, each line once. Line ends are those of
// Unix. With the prefix bash: a line that is longer than a page may have arrived in parts.
func cmdFollowed(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "followed FILE")
	v, _ := following.Load(ts.Getenv("WORK"))
	f, _ := v.(*follower)
	if f == nil {
		ts.Fatalf("followserve comes first")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bad != "" {
		ts.Fatalf("%s", f.bad)
	}
	path, isShell := strings.CutPrefix(args[0], "bash:")
	content, err := os.ReadFile(ts.MkAbs(path))
	ts.Check(err)
	want, got := strings.ReplaceAll(string(content), "\r\n", "\n"), f.read[args[0]]
	if isShell {
		got = strings.ReplaceAll(got, "\r", "")
	}
	want, got = strings.TrimRight(want, "\n"), strings.TrimRight(got, "\n")
	if isShell && len(want) > 100*strings.Count(want, "\n") {
		want, got = strings.ReplaceAll(want, "\n", ""), strings.ReplaceAll(got, "\n", "")
	}
	if want == got {
		return
	}
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	ts.Fatalf("%s: %d bytes were read of %d; they differ at byte %d: %q, want %q", args[0], len(got), len(want), at, got[at:min(at+80, len(got))], want[at:min(at+80, len(want))])
}

var (
	pageNote    = regexp.MustCompile(`\n\[(?:lines|line) [^\n]*\]$`)
	nextLine    = regexp.MustCompile(`the next one is offset (\d+)\]$`)
	nextColumn  = regexp.MustCompile(`the next one is offset (\d+) with column (\d+)\]$`)
	shortLine   = regexp.MustCompile(` …\[line shortened: offset (\d+) with column (\d+) reads on\]$`)
	leftOutNote = regexp.MustCompile(`(?m)^\[… lines \d+-\d+ of \d+ are left out\. Read them with: rye_artifact (\{[^\n]*\}) …\]\n?`)
	nextPart    = regexp.MustCompile(`the next: rye_artifact (\{.*\})\]$`)
	statusNote  = regexp.MustCompile(`\n?\[exit status 0\]$`)
)

// answer reads the whole conversation again, file by file, and returns the next call.
func (f *follower) answer(r *rulemodel.Request) scripted.Send {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := r.Calls
	for _, name := range f.files {
		var next *scripted.Call
		var text string
		var err error
		if path, isShell := strings.CutPrefix(name, "bash:"); isShell {
			text, next, calls, err = followShell(path, calls)
		} else {
			text, next, calls, err = followRead(name, calls)
		}
		if err != nil {
			f.bad = name + ": " + err.Error()
			return scripted.Send{Text: f.bad}
		}
		if next != nil {
			return r.Do(*next)
		}
		f.read[name] = text
	}
	return scripted.Send{Text: "Done."}
}

// followRead puts together what rye/file-system/read returned.
func followRead(path string, calls []rulemodel.Call) (string, *scripted.Call, []rulemodel.Call, error) {
	input := map[string]any{"file_path": path}
	var lines []string
	var short [][2]int // lines that were shortened, with their next column
	offset, column := 1, 0
	for {
		if len(calls) == 0 {
			return "", &scripted.Call{Name: "rye__file-system__read", Input: input}, nil, nil
		}
		text := calls[0].Result
		calls = calls[1:]
		note := pageNote.FindString(text)
		text = strings.TrimSuffix(text, note)
		if column > 0 {
			if have := utf8.RuneCountInString(lines[offset-1]); have != column-1 {
				return "", nil, nil, fmt.Errorf("line %d: %d characters were read before column %d", offset, have, column)
			}
			lines[offset-1] += text
			if m := nextColumn.FindStringSubmatch(note); m != nil {
				short = append(short, [2]int{number(m[1]), number(m[2])})
			}
		} else {
			if offset != len(lines)+1 {
				return "", nil, nil, fmt.Errorf("line %d follows line %d", offset, len(lines))
			}
			for line := range strings.SplitSeq(text, "\n") {
				if m := shortLine.FindStringSubmatch(line); m != nil {
					short = append(short, [2]int{number(m[1]), number(m[2])})
					line = strings.TrimSuffix(line, m[0])
				}
				lines = append(lines, line)
			}
			if m := nextLine.FindStringSubmatch(note); m != nil {
				short = append(short, [2]int{number(m[1]), 0})
			}
		}
		if len(short) == 0 {
			return strings.Join(lines, "\n"), nil, calls, nil
		}
		offset, column = short[0][0], short[0][1]
		short = short[1:]
		input = map[string]any{"file_path": path, "offset": offset}
		if column > 0 {
			input["column"] = column
		}
	}
}

// followShell puts together what cat printed, with the artifacts that the results name.
func followShell(path string, calls []rulemodel.Call) (string, *scripted.Call, []rulemodel.Call, error) {
	if len(calls) == 0 {
		return "", &scripted.Call{Name: "rye__bash__bash", Input: map[string]any{"command": "cat " + path}}, nil, nil
	}
	text := statusNote.ReplaceAllString(calls[0].Result, "")
	calls = calls[1:]
	for {
		gap := leftOutNote.FindStringSubmatchIndex(text)
		if gap == nil {
			return text, nil, calls, nil
		}
		if len(calls) == 0 {
			var input map[string]any
			if err := json.Unmarshal([]byte(text[gap[2]:gap[3]]), &input); err != nil {
				return "", nil, nil, err
			}
			return "", &scripted.Call{Name: "rye_artifact", Input: input}, nil, nil
		}
		note := pageNote.FindString(calls[0].Result)
		part := strings.TrimSuffix(calls[0].Result, note)
		if m := nextPart.FindStringSubmatch(note); m != nil {
			part += "\n[… lines 0-0 of 0 are left out. Read them with: rye_artifact " + m[1] + " …]"
		}
		calls = calls[1:]
		text = text[:gap[0]] + part + "\n" + text[gap[1]:]
	}
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
