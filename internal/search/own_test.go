package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ownItems are tools as people write them for a project, each in other words, with a question
// that has its words, often in another form and order.
var ownItems = []struct{ id, description, question string }{
	{"demo/lines", "Count the lines of a file.", "count lines"},
	{"demo/wc", "Print the number of lines and words, as wc does.", "number of words"},
	{"ops/deploy", "Deploy the service to staging.", "deploy service"},
	{"ops/logs", "Show the newest lines of the log of a service.", "service log"},
	{"db/migrate", "Run the migrations of the database.", "run migrations"},
	{"docs/toc", "Write the table of contents of a page.", "table of contents"},
	{"team/standup", "Collect what was done yesterday.", "collect yesterday"},
	{"git/prune", "Delete branches that are merged.", "delete branches"},
	{"img/resize", "Make images smaller.", "resize images"},
	{"net/ping", "Check that a host answers.", "check host"},
}

// TestOwnFirst: an own item that has the words of a question is before every item of the
// system, which are long and many.
func TestOwnFirst(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for _, own := range ownItems {
		k.Put(k.Project, "tools/"+own.id+".sh", fmt.Sprintf("# version: 1.0.0\n# tool_type: script\n# executor_id: rye/core/runtimes/bash_runtime\n# description: %s\necho\n", own.description))
	}
	for _, scan := range []bool{false, true} {
		x := k.index(scan)
		for _, own := range ownItems {
			res, err := x.Search(t.Context(), Query{Text: own.question, Limit: 50})
			if err != nil {
				t.Fatal(err)
			}
			found := refs(res)
			at := slices.Index(found, "tool:"+own.id)
			system := slices.IndexFunc(found, func(ref string) bool { return strings.HasPrefix(ref, "tool:rye/") || strings.HasPrefix(ref, "config:") })
			if at < 0 || system >= 0 && system < at {
				t.Errorf("%s: tool:%s is at %d of %q", own.question, own.id, at+1, found[:min(4, len(found))])
			}
		}
		// A question that names an item of the system is about that one, whatever is nearer.
		for question, want := range map[string]string{
			"edit lines": "tool:rye/file-system/edit_lines", "run bash": "tool:rye/bash/bash", "read file": "tool:rye/file-system/read",
			"web search": "tool:rye/web/websearch", "create tool": "directive:rye/core/create_tool",
		} {
			res, err := x.Search(t.Context(), Query{Text: question, Limit: 5})
			if err != nil || len(res.Hits) == 0 || res.Hits[0].Ref().String() != want {
				t.Errorf("%s: %v %q, want %s first", question, err, refs(res), want)
			}
		}
	}
}
