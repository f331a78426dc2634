package runsoutside

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed programs.txt
var programsText string

// Program is a row of the table of programs: a path of a project in which a program looks for
// commands that it runs.
type Program struct {
	Path   string // names joined by "/"; in a name, * is any text
	Name   string // of the program
	Source string // a page about it
	Date   string // on which the row was added or last examined, as 2026-11-29
}

// Programs returns the table. The rows are in the order of the file.
var Programs = sync.OnceValue(func() []Program {
	out, err := parsePrograms(programsText)
	if err != nil {
		panic(err) // the file is a part of the program, and a test reads it
	}
	return out
})

// parsePrograms reads the rows. That their dates exist is a test.
func parsePrograms(text string) ([]Program, error) {
	out := make([]Program, 0, strings.Count(text, "\n")+1)
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		var cells [4]string
		more := true
		for i := range cells {
			if more {
				cells[i], line, more = strings.Cut(line, "|")
			}
			cells[i] = strings.TrimSpace(cells[i])
		}
		if more ||
			cells[0] == "" ||
			cells[1] == "" ||
			!strings.HasPrefix(cells[2], "https://") ||
			cells[3] == "" {
			return nil, fmt.Errorf("programs.txt:%d: a row has a path, a program, an https address and a date", n)
		}
		out = append(out, Program{cells[0], cells[1], cells[2], cells[3]})
	}
	return out, nil
}
