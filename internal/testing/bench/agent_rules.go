package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/testing/bench/rulemodel"
	"github.com/ryeos/rye/threads/provider/scripted"
)

// The ids of the tools that the tasks use.
const (
	readID  = "rye/file-system/read"
	writeID = "rye/file-system/write"
	editID  = "rye/file-system/edit_lines"
	grepID  = "rye/file-system/grep"
	globID  = "rye/file-system/glob"
	bashID  = "rye/bash/bash"
	childID = "rye/agent/threads/thread_directive"
)

// object has the arguments of a call.
type object = map[string]any

// finish returns the outputs of a directive.
func finish(r *rulemodel.Request, outputs object) scripted.Send {
	return r.Do(scripted.Call{Name: "directive_return", Input: outputs})
}

const lineIDs = `\[LID:([^\]]+)\] *return a - b|"id": ?"([^"]+)"`

// fixRule fixes a bug. It calls a tool by the name that another program has for it, uses
// a wrong parameter, edits a line by an id that does not exist, and first ends without
// its outputs.
func fixRule(r *rulemodel.Request) scripted.Send {
	last := r.Last().Result
	switch len(r.Calls) {
	case 0:
		return r.Do(scripted.Call{Name: "read_file", Input: object{"path": "calc.py"}})
	case 1:
		if !strings.Contains(last, "rye__file-system__read") && !strings.Contains(last, "rye_execute") {
			return rulemodel.Lost("the name of the tool that reads a file, in %q", last)
		}
		return r.Do(r.Use(readID, object{"path": "calc.py"}))
	case 2:
		if !strings.Contains(last, "file_path") {
			return rulemodel.Lost("the name of the parameter file_path, in %q", last)
		}
		return r.Do(
			r.Use(readID, object{"file_path": "calc.py", "line_ids": true}),
			r.Use(bashID, object{"command": "python3 -B test_calc.py"}),
		)
	case 4:
		if !strings.Contains(last, "AssertionError") {
			return rulemodel.Lost("the failure of the test, in %q", last)
		}
		return r.Do(r.Use(editID, object{"file_path": "calc.py", "changes": []any{object{"line_id": "zzzzzzzz", "new_content": "    return a + b"}}}))
	case 5:
		found := regexp.MustCompile(lineIDs).FindStringSubmatch(r.Calls[2].Result)
		if found == nil {
			return rulemodel.Lost("the id of the line, in %q", r.Calls[2].Result)
		}
		return r.Do(r.Use(editID, object{"file_path": "calc.py", "changes": []any{object{"line_id": found[1], "new_content": "    return a + b"}}}))
	case 6:
		if !strings.Contains(last, "return a + b") {
			return rulemodel.Lost("the difference of the edit, in %q", last)
		}
		return r.Do(r.Use(bashID, object{"command": "python3 -B test_calc.py"}))
	}
	if !strings.Contains(last, "all tests pass") {
		return rulemodel.Lost("the output of the test, in %q", last)
	}
	if !strings.Contains(r.All(), "I fixed the sum.") {
		return scripted.Send{Text: "I fixed the sum."}
	}
	return finish(r, object{"result": "fixed"})
}

const pythonFile = `[a-z]+\.py`

// renameRule renames a function in all files that the search lists.
func renameRule(r *rulemodel.Request) scripted.Send {
	last := r.Last().Result
	switch len(r.Calls) {
	case 0:
		return r.Do(r.Use(grepID, object{"pattern": "old_total", "path": "src"}))
	case 1:
		files := regexp.MustCompile(pythonFile).FindAllString(last, -1)
		slices.Sort(files)
		files = slices.Compact(files)
		if len(files) != 4 {
			return rulemodel.Lost("the names of four files, in %q", last)
		}
		return r.Do(r.Use(bashID, object{"command": "cd src && sed -i s/old_total/new_total/g " + strings.Join(files, " ")}))
	case 2:
		return r.Do(
			r.Use(grepID, object{"pattern": "new_total", "path": "src"}),
			r.Use(bashID, object{"command": "grep -rc old_total src || echo 'none is left'"}),
		)
	}
	if !strings.Contains(last, "none is left") {
		return rulemodel.Lost("the end of the search, in %q", last)
	}
	return finish(r, object{"result": "renamed"})
}

const amount = `(?m)(?:^|[ \n\]"])[a-z]+,([0-9]+)`

// reportRule adds up amounts of files that it reads in one answer, and writes a report.
// Its first call of write has arguments that are not JSON.
func reportRule(r *rulemodel.Request) scripted.Send {
	switch len(r.Calls) {
	case 0:
		return r.Do(r.Use(globID, object{"pattern": "data/*.csv"}))
	case 1:
		var calls []scripted.Call
		for n := 1; n <= 6; n++ {
			name := fmt.Sprintf("data/%d.csv", n)
			if !strings.Contains(r.Last().Result, name) {
				return rulemodel.Lost("the file %s, in %q", name, r.Last().Result)
			}
			calls = append(calls, r.Use(readID, object{"file_path": name}))
		}
		return r.Do(calls...)
	case 7:
		return r.Do(scripted.Call{Name: r.Use(writeID, nil).Name, Arguments: `{"file_path": "report.md", "content": "sum",}`})
	case 8:
		sum := 0
		for _, c := range r.Calls[1:7] {
			for _, m := range regexp.MustCompile(amount).FindAllStringSubmatch(strings.ReplaceAll(c.Result, `\n`, "\n"), -1) {
				n, _ := strconv.Atoi(m[1]) // digits
				sum += n
			}
		}
		return r.Do(r.Use(writeID, object{"file_path": "report.md", "content": fmt.Sprintf("The sum is %d.\n", sum)}))
	}
	return finish(r, object{"result": "reported"})
}

// pageRule reads a page of a web server.
func pageRule(r *rulemodel.Request) scripted.Send {
	if len(r.Calls) == 0 {
		return r.Do(r.Use("bench/page", object{"path": "news"}))
	}
	if !strings.Contains(r.Last().Result, "The price is 42 euros.") {
		return rulemodel.Lost("the text of the page, in %q", r.Last().Result)
	}
	return finish(r, object{"result": "42"})
}

// graphRule calls a graph.
func graphRule(r *rulemodel.Request) scripted.Send {
	if len(r.Calls) == 0 {
		return r.Do(r.Use("bench/flow", object{"word": "hello"}))
	}
	if !strings.Contains(r.Last().Result, "HELLO") {
		return rulemodel.Lost("the output of the graph, in %q", r.Last().Result)
	}
	return finish(r, object{"result": "HELLO"})
}

// mergeRule starts three threads in one answer and merges what they return.
func mergeRule(r *rulemodel.Request) scripted.Send {
	if len(r.Calls) == 0 {
		var calls []scripted.Call
		for _, part := range []string{"one", "two", "three"} {
			calls = append(calls, r.Use(childID, object{"directive_id": "bench/part", "inputs": object{"part": part}}))
		}
		return r.Do(calls...)
	}
	var merged []string
	for i, part := range []string{"one", "two", "three"} {
		want := "part " + part + " is done"
		if !strings.Contains(r.Calls[i].Result, want) {
			return rulemodel.Lost("%q, in %q", want, r.Calls[i].Result)
		}
		merged = append(merged, want)
	}
	return finish(r, object{"result": strings.Join(merged, ", ")})
}

const partName = `PART:(one|two|three)`

// partRule does the work of one of the three threads.
func partRule(r *rulemodel.Request) scripted.Send {
	part := regexp.MustCompile(partName).FindStringSubmatch(r.All())
	if part == nil {
		return rulemodel.Lost("the input")
	}
	return finish(r, object{"result": "part " + part[1] + " is done"})
}

const nextPart = `The next part is (part-[0-9]+\.txt)`

// longRule reads files that name each other, until the last one. The conversation may be
// shortened at any time, so it finds its position in whatever text it still has.
func longRule(r *rulemodel.Request) scripted.Send {
	all := r.All()
	if strings.Contains(all, "This is the last part.") {
		return finish(r, object{"result": "read"})
	}
	found := regexp.MustCompile(nextPart).FindAllStringSubmatch(all, -1)
	if found == nil {
		return rulemodel.Lost("the name of the next part")
	}
	var names []string
	for _, m := range found {
		names = append(names, m[1])
	}
	return r.Do(r.Use(readID, object{"file_path": "parts/" + slices.Max(names)}))
}

// summaryRule summarizes the conversation of longRule.
func summaryRule(r *rulemodel.Request) scripted.Send {
	found := regexp.MustCompile(nextPart).FindAllString(r.All(), -1)
	if found == nil {
		return scripted.Send{Text: "Parts were read."}
	}
	return scripted.Send{Text: "The parts before it were read. " + slices.Max(found) + "."}
}

// imageRule reads an image and needs to see it.
func imageRule(r *rulemodel.Request) scripted.Send {
	if len(r.Calls) == 0 {
		return r.Do(r.Use(readID, object{"file_path": "chart.png"}))
	}
	if r.Last().Images == 0 {
		return rulemodel.Lost("the image, in %q", r.Last().Result)
	}
	return finish(r, object{"result": "seen"})
}

// serverRule calls the tool of an MCP server.
func serverRule(r *rulemodel.Request) scripted.Send {
	if len(r.Calls) == 0 {
		return r.Do(r.Use("mcp/hello/hello", object{}))
	}
	if !strings.Contains(r.Last().Result, "hello") {
		return rulemodel.Lost("the greeting, in %q", r.Last().Result)
	}
	return finish(r, object{"result": "greeted"})
}

// questionRule removes a directory, which a person must approve.
func questionRule(r *rulemodel.Request) scripted.Send {
	if len(r.Calls) == 0 {
		return r.Do(r.Use(bashID, object{"command": "rm -r build && echo 'build is removed'"}))
	}
	if !strings.Contains(r.Last().Result, "build is removed") {
		return rulemodel.Lost("the output of the command, in %q", r.Last().Result)
	}
	return finish(r, object{"result": "removed"})
}
