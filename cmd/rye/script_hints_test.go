package main

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// hinted matches a command in a hint: in backquotes, or from "rye" to the end.
var hinted = regexp.MustCompile("`(rye [^`]+)`|^(rye [a-z].*?)(?: \\(.*)?$")

// cmdLeadsOn runs a command, which must fail with the code, then every command that
// its hints name: none may fail with the same code. $FILE replaces the word FILE of
// hints. With "!" no hint may name a command.
func cmdLeadsOn(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 || args[1] != "rye" {
		ts.Fatalf("usage: [!] leadson CODE rye ARG…")
	}
	code := args[0]
	if ts.Exec("rye", args[2:]...) == nil {
		ts.Fatalf("%s did not fail", strings.Join(args[1:], " "))
	}
	stderr := ts.ReadFile("stderr")
	if got := ts.ReadFile("stdout") + stderr; !strings.Contains(got, code) {
		ts.Fatalf("it did not fail with %s", code)
	}
	var commands []string
	hints := 0
	for line := range strings.Lines(stderr) {
		hint, ok := strings.CutPrefix(strings.TrimSpace(line), "rye: hint: ")
		if !ok {
			continue
		}
		hints++
		for _, m := range hinted.FindAllStringSubmatch(hint, -1) {
			commands = append(commands, strings.ReplaceAll(m[1]+m[2], "FILE", ts.Getenv("FILE")))
		}
	}
	switch {
	case hints == 0:
		ts.Fatalf("no hint")
	case neg != (len(commands) == 0):
		ts.Fatalf("commands in the hints: %q", commands)
	}
	for _, c := range commands {
		_ = ts.Exec("rye", append(strings.Fields(c)[1:], "--json")...)
		if codes := failedCodes(ts, ts.ReadFile("stdout")); strings.Contains(codes, " "+code+" ") {
			ts.Fatalf("%s was hinted and fails with%s", c, codes)
		}
	}
}

// failedCodes returns the codes of the errors in the document of a command, each
// between spaces.
func failedCodes(ts *testscript.TestScript, text string) string {
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		ts.Fatalf("%v in %s", err, text)
	}
	codes := " "
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if c, ok := v["code"].(string); ok && v["severity"] != "warning" && v["message"] != nil {
				codes += c + " "
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(doc)
	return codes
}
