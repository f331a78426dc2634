package main

import (
	"fmt"
	"regexp"
	"strings"
)

// entry is a known failure.
type entry struct {
	owner   string // wine: a gap of Wine; ours: of rye or of its test
	mark    string // ! never ends or ends the process, so it runs alone; ? fails at times
	pkg     string // without the module's path
	test    string // covers its subtests; * leaves the package out
	reason  string
	covered int // failures that it covers
}

// covers reports whether e's test or one of its subtests failed.
func (e *entry) covers(f failure) bool {
	return f.pkg == e.pkg &&
		(f.test == e.test || strings.HasPrefix(f.test, e.test+"/"))
}

// parseList reads lines of "OWNER PACKAGE TEST REASON…". A line that starts with # is a
// comment. OWNER is wine or ours, with a mark for a test that hangs or fails at times.
func parseList(text string) ([]*entry, error) {
	var out []*entry
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 {
			return nil, fmt.Errorf("line %d: OWNER PACKAGE TEST REASON is expected, the reason is missing", i+1)
		}
		owner := strings.TrimRight(fields[0], "!?")
		if owner != "wine" && owner != "ours" {
			return nil, fmt.Errorf("line %d: the owner is wine or ours, not %q", i+1, fields[0])
		}
		if key := fields[1] + " " + fields[2]; seen[key] {
			return nil, fmt.Errorf("line %d: %s is listed twice", i+1, key)
		} else {
			seen[key] = true
		}
		out = append(out, &entry{
			owner:  owner,
			mark:   fields[0][len(owner):],
			pkg:    fields[1],
			test:   fields[2],
			reason: strings.Join(fields[3:], " "),
		})
	}
	return out, nil
}

// pattern returns the value of go test -run and -skip for the test.
func (e *entry) pattern() string {
	parts := strings.Split(e.test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}
