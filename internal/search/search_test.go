package search

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
)

// kit is a test project with an index over it.
type kit struct {
	*testkit.Workspace
	p Params
}

func newKit(t testing.TB) *kit {
	h := testkit.New(t)
	return &kit{h, Params{CacheDir: h.Cache, Now: time.Now}}
}

// index returns an index as a new process would have it.
func (k *kit) index(scan bool) *Index {
	p := k.p
	p.Resolver, p.Scan = resolve.New(resolve.Params{Spaces: k.Spaces(), Trust: k.Store()}), scan
	return New(p)
}

func (k *kit) search(q Query) *Result {
	k.T.Helper()
	res, err := k.index(false).Search(k.T.Context(), q)
	if err != nil {
		k.T.Fatalf("%q: %v", q.Text, err)
	}
	return res
}

// ids returns the refs of the hits of a query.
func (k *kit) ids(text string) []string {
	k.T.Helper()
	return refs(k.search(Query{Text: text, Limit: 50}))
}

func refs(r *Result) []string {
	out := []string{}
	for _, h := range r.Hits {
		out = append(out, h.Ref().String())
	}
	return out
}

func (k *kit) want(text string, want ...string) {
	k.T.Helper()
	got := k.ids(text)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		k.T.Errorf("%q finds %q, want %q", text, got, want)
	}
}

func tool(description, more string) string {
	return "version: \"1.0.0\"\ntool_type: script\nexecutor_id: rye/core/runtimes/bash_runtime\ndescription: " + description + "\n" + more
}

func directive(name, title, description, body string) string {
	return fmt.Sprintf("# %s\n\n```xml\n<directive name=%q version=\"1.0.0\">\n<metadata><description>%s</description></metadata>\n</directive>\n```\n\n%s\n", title, name, description, body)
}

func knowledge(title, tags, body string) string {
	return fmt.Sprintf("---\ntitle: %s\nversion: 1.0.0\ntags: [%s]\n---\n\n%s\n", title, tags, body)
}

// smallProject has a few items and no system space but what reads them.
func smallProject(t testing.TB) *kit {
	k := newKit(t)
	k.Put(k.Project, "tools/web/scrape_page.yaml", tool("Fetch a page and keep its text.", "tags: [http, crawl]\n"))
	k.Put(k.Project, "directives/web/survey.md", directive("survey", "Survey the web", "Look at many sites.", "Fetch each page twice. Then write a report about the sites."))
	k.Put(k.Project, "knowledge/web/etiquette.md", knowledge("Crawling etiquette", "crawl, robots", "Read robots.txt first. A page may forbid the crawl. Café zürich."))
	k.Put(k.User, "tools/notes/append.yaml", tool("Append a line to the notes.", ""))
	return k
}

const (
	scrape    = "tool:web/scrape_page"
	survey    = "directive:web/survey"
	etiquette = "knowledge:web/etiquette"
	notes     = "tool:notes/append"
)

// here leaves the system space out of a query.
const here = " NOT space:system"

func TestGrammar(t *testing.T) {
	t.Parallel()
	k := smallProject(t)
	for text, want := range map[string][]string{
		"page":                                {scrape, survey, etiquette},
		"page fetch":                          {scrape, survey, etiquette},
		"+page fetch":                         {scrape, survey, etiquette},
		"page +fetch":                         {scrape, survey},
		"page AND fetch robots":               {scrape, survey},
		"notes AND (fetch OR append)":         {notes},
		"page AND fetch":                      {scrape, survey},
		"PAGE AND Fetch":                      {scrape, survey},
		"page NOT fetch":                      {etiquette},
		"NOT page":                            {notes},
		"page AND fetch OR notes":             {scrape, survey, notes},
		"page AND (fetch OR robots)":          {scrape, survey, etiquette},
		"page NOT (fetch OR robots)":          {},
		"NOT NOT page":                        {scrape, survey, etiquette},
		`"each page"`:                         {survey},
		`"page each"`:                         {},
		`"each page twice"`:                   {survey},
		`"fetch page"`:                        {},
		`"page fetch"~1`:                      {scrape, survey},
		`"page fetch"~0`:                      {},
		`"report sites"~2`:                    {survey},
		`"report sites"~1`:                    {},
		`"page page"~9`:                       {},
		"scrap*":                              {scrape},
		"*rawl*":                              {scrape, etiquette},
		"s*e_p*e":                             {scrape},
		"scrape_page":                         {scrape},
		"scrape-page":                         {scrape},
		"web/scrape_page":                     {scrape},
		"tool:web/scrape_page":                {scrape},
		"directive:web/scrape_page":           {},
		"robots.txt":                          {etiquette},
		"robot~1":                             {etiquette},
		"robtos~1":                            {etiquette},
		"robtso~1":                            {},
		"robtso~2":                            {etiquette},
		"robots~0":                            {etiquette},
		"title:web":                           {survey},
		"title:crawling":                      {etiquette},
		`tags:"crawl robots"`:                 {}, // two tags
		"tags:crawl":                          {scrape, etiquette},
		"body:crawl":                          {etiquette},
		`body:"robots txt"`:                   {etiquette},
		`title:"the web"`:                     {survey},
		`title:"survey web"~1`:                {survey},
		"category:web":                        {scrape, survey, etiquette},
		"name:append":                         {notes},
		"title:*":                             {survey, etiquette},
		"content:signed":                      {}, // signature lines are no content
		"content:append":                      {notes},
		"type:tool":                           {scrape, notes},
		"type:tool page":                      {scrape},
		"page NOT type:tool":                  {survey, etiquette},
		"type:tool OR space:user":             {scrape, notes},
		"space:user":                          {notes},
		"ns:web":                              {scrape, survey, etiquette},
		"ns:web/*":                            {scrape, survey, etiquette},
		"ns:we":                               {},
		"ns:web/survey":                       {survey},
		"*":                                   {scrape, survey, etiquette, notes},
		"café":                                {etiquette},
		"CAFÉ ZÜRICH":                         {etiquette},
		"page title:*":                        {survey, etiquette},
		"page name:app*":                      {scrape, survey, etiquette, notes},
		"and":                                 {scrape}, // small, it is a word
		"(page)":                              {scrape, survey, etiquette},
		"((page))AND(fetch)":                  {scrape, survey},
		`page"each page"`:                     {scrape, survey, etiquette},
		`page +"each page"`:                   {survey},
		"tool_type:script":                    {scrape, notes},
		"page tool_type:script":               {scrape},
		"page NOT tool_type:script":           {survey, etiquette},
		"signed-by:" + k.signer()[:6]:         {scrape, survey, etiquette, notes},
		"signed-by:" + k.signer() + " append": {notes},
		"signed-by:ffff0000":                  {},
	} {
		res := k.search(Query{Text: "(" + text + ")" + here, Limit: 50})
		got := refs(res)
		if strings.HasPrefix(res.Note, "no item has \"") {
			got = nil
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func (k *kit) signer() string { return sign.FingerprintOf(k.Key.Public()).String() }

func TestEverything(t *testing.T) {
	t.Parallel()
	k := smallProject(t)
	all := k.search(Query{Limit: MaxLimit})
	if all.Total != len(all.Hits) || all.Total < 30 || all.NextOffset != 0 {
		t.Fatalf("%d of %d, next %d", len(all.Hits), all.Total, all.NextOffset)
	}
	var paged []string
	for at := 0; ; {
		res := k.search(Query{Text: "*", Limit: 7, Offset: at})
		paged = append(paged, refs(res)...)
		if res.Total != all.Total {
			t.Fatalf("a page of %d", res.Total)
		}
		if at = res.NextOffset; at == 0 {
			break
		}
	}
	if !slices.Equal(paged, refs(all)) {
		t.Errorf("pages %q\nwhole %q", paged, refs(all))
	}
	if got := refs(all)[:4]; !slices.Equal(got, []string{scrape, survey, etiquette, notes}) {
		// By space, then id: web/etiquette comes before web/scrape_page.
		if !slices.Equal(got, []string{etiquette, scrape, survey, notes}) {
			t.Errorf("order %q", got)
		}
	}
	if res := k.search(Query{Offset: all.Total + 5}); len(res.Hits) != 0 || res.Hits == nil || res.NextOffset != 0 || res.Total != all.Total {
		t.Errorf("beyond the end: %+v", res)
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	k := smallProject(t)
	for scope, want := range map[string]int{
		"": 4, "all": 4, "*": 4, "tool": 2, "tool.*": 2, "directive": 1, "tool.web": 1, "tool.web.*": 1, "tool.web.scrape_page": 1, "tool.we": 0,
		"rye.search.tool.*": 2, "rye.search.*": 4, "rye.search.tool.notes.*": 1, "rye.execute.all": 4, "all.web.*": 3, "tool/web": 1, "tool:web/*": 1, "knowledge.web.x": 0,
	} {
		res, err := k.index(false).Search(t.Context(), Query{Text: "NOT space:system", Scope: scope})
		if err != nil || res.Total != want {
			t.Errorf("%q: %+v, %v, want %d", scope, res, err, want)
		}
	}
	for _, c := range []struct {
		kinds []item.Kind
		text  string
		total int
	}{
		{nil, "NOT space:system", 4}, {[]item.Kind{"tool"}, "NOT space:system", 2}, {[]item.Kind{"tool", "knowledge"}, "NOT space:system", 3},
		{[]item.Kind{"tool"}, "type:knowledge OR survey", 0}, {[]item.Kind{}, "*", 0}, {[]item.Kind{"nokind"}, "*", 0},
	} {
		for _, scan := range []bool{false, true} {
			res, err := k.index(scan).Search(t.Context(), Query{Text: c.text, Kinds: c.kinds})
			if err != nil || res.Total != c.total {
				t.Errorf("kinds %q, %s: %+v, %v", c.kinds, c.text, res, err)
			}
		}
	}
	if _, err := k.index(false).Search(t.Context(), Query{Text: "a) OR (b", Kinds: []item.Kind{"tool"}}); columnOf(err) != 2 {
		t.Error(err)
	}
	for scope, column := range map[string]int{"tol": 1, "rye.search.tol": 12, "tool.a b": 6, "tool.é": 6, ".": 1, "rye.core": 1, "type:tool": 1, "ALL": 1} {
		_, err := k.index(false).Search(t.Context(), Query{Scope: scope})
		if diag.CodeOf(err) != diag.Usage || columnOf(err) != column {
			t.Errorf("%q: %v at %d, want %d", scope, err, columnOf(err), column)
		}
	}
	for in, want := range map[string]int{"project": 3, "user": 1, "": 4, "all": 4} {
		if res := k.search(Query{Text: "NOT space:system", Space: in}); res.Total != want {
			t.Errorf("space %q: %d, want %d", in, res.Total, want)
		}
	}
	if _, err := k.index(false).Search(t.Context(), Query{Space: "registry"}); diag.CodeOf(err) != diag.Usage {
		t.Error(err)
	}
	for _, q := range []Query{{Limit: -1}, {Limit: MaxLimit + 1}, {Offset: -1}} {
		if _, err := k.index(false).Search(t.Context(), q); diag.CodeOf(err) != diag.Usage {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// An id is shown once: the copy that is used, or a shadowed one that alone
// matches, marked.
func TestShadowed(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.Put(k.Project, "tools/demo/a.yaml", tool("A zebra of the project.", ""))
	k.Put(k.User, "tools/demo/a.yaml", tool("A zebra and a giraffe.", ""))
	res := k.search(Query{Text: "zebra"})
	if res.Total != 1 || res.Hits[0].Source != "project" || res.Hits[0].Shadowed || !slices.Equal(res.Hits[0].Shadows, []string{"user"}) {
		t.Errorf("%+v", res)
	}
	for _, q := range []Query{{Text: "giraffe"}, {Text: "zebra", Space: "user"}, {Text: "zebra space:user"}} {
		if res := k.search(q); res.Total != 1 || res.Hits[0].Source != "user" || !res.Hits[0].Shadowed || res.Hits[0].Shadows != nil {
			t.Errorf("%+v: %+v", q, res)
		}
	}
	// What only the embedded bundle may supply is not hidden by a copy.
	k.Put(k.Project, "tools/rye/core/primitives/subprocess.yaml", tool("A zebra in disguise.", ""))
	res = k.search(Query{Text: "disguise"})
	if res.Total != 1 || !res.Hits[0].Shadowed || res.Hits[0].Source != "project" {
		t.Errorf("%+v", res)
	}
	if res = k.search(Query{Text: "name:subprocess"}); res.Total != 1 || res.Hits[0].Shadowed || res.Hits[0].Source != "system:rye-core" || !slices.Equal(res.Hits[0].Shadows, []string{"project"}) {
		t.Errorf("%+v", res)
	}
}

// An item with an error is found, and its hit has the code.
func TestTrustOfHits(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.Put(k.Project, "tools/zebra/good.yaml", tool("Good.", ""))
	k.Write(k.Project, "tools/zebra/draft.yaml", tool("Draft.", ""))
	k.Write(k.Project, "tools/zebra/stranger.yaml", string(k.Signed("tools/zebra/stranger.yaml", tool("Strange.", ""), testkit.Key(9))))
	k.Write(k.Project, "tools/zebra/changed.yaml", string(k.Signed("tools/zebra/changed.yaml", tool("Changed.", ""), k.Key))+"author: x\n")
	k.Write(k.Project, "tools/zebra/broken.yaml", tool("Broken.", "a: [\n"))
	k.Write(k.Project, "tools/zebra/large.yaml", strings.Repeat("#\n", resolve.MaxItem/2+1))
	k.Write(k.Project, "tools/zebra/support.yaml", "a: zebra\n")
	k.Write(k.Project, "tools/zebra/binary.sh", "\x00\xff\xfe")
	k.Write(k.Project, "tools/zebra/__init__.py", "")
	k.Write(k.Project, "directives/zebra/empty.md", "")
	k.Write(k.Project, "directives/zebra/noise.md", "```xml\n<directive\n"+strings.Repeat("<a>", 10000)+"\n```")
	k.Write(k.Project, "knowledge/zebra/bad name.md", "zebra")
	want := map[string]string{
		"tool:zebra/good": "trusted", "tool:zebra/draft": "UNSIGNED", "tool:zebra/stranger": "KEY_UNKNOWN", "tool:zebra/changed": "HASH_MISMATCH",
		"tool:zebra/broken": "UNSIGNED", "tool:zebra/large": "TOO_LARGE", "directive:zebra/empty": "UNSIGNED", "directive:zebra/noise": "UNSIGNED",
	}
	if err := os.Symlink("good.yaml", filepath.Join(k.Project, ".ai/tools/zebra/link.yaml")); err == nil {
		want["tool:zebra/link"] = "PATH_ESCAPE"
	}
	for _, scan := range []bool{false, true} {
		res, err := k.index(scan).Search(t.Context(), Query{Text: "zebra", Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, h := range res.Hits {
			got[h.Ref().String()] = h.Trust
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("scan %v: %v\nwant %v", scan, got, want)
		}
	}
}

// A note explains a result without hits, and one without the words of the query.
func TestNotes(t *testing.T) {
	t.Parallel()
	k := smallProject(t)
	const none = "nothing matches: use fewer or other words, or the query * to list all items"
	for _, c := range []struct {
		text        string
		note        string
		first       string
		suggestions []string
	}{
		{"scrpae", `no item has "scrpae"; these have similar words`, scrape, []string{"scrape"}},
		{"etiquete", `no item has "etiquete"; these have similar words`, etiquette, []string{"etiquette"}},
		{"title:etiquete", `no item has "etiquete"; these have similar words`, etiquette, []string{"title:etiquette"}},
		{"(fetch) scrpae_page NOT notes", `no item has "scrpae_page"; these have similar words`, scrape, []string{"(fetch) scrape_page NOT notes"}},
		{"robots giraffe", `no item has "giraffe"; these have other words of the query`, etiquette, nil},
		{"robots giraffe type:knowledge", `no item has "giraffe"; these have other words of the query`, etiquette, nil},
		{"(robots giraffe) (type:knowledge OR type:tool)", `no item has "giraffe"; these have other words of the query`, etiquette, nil},
		{"robots survey", "no item has all words; these have some of them", "", nil},
		{"robots OR survey", "", "", nil},
		{"robots NOT etiquete", "", etiquette, nil},
		{"robots AND giraffe", none, "", nil},
		{"giraffe", none, "", nil},
		{`"robots giraffe"`, none, "", nil},
		{"etiquete*", none, "", nil},
		{"xz", none, "", nil},
	} {
		for _, scan := range []bool{false, true} {
			res, err := k.index(scan).Search(t.Context(), Query{Text: c.text})
			if err != nil {
				t.Fatal(err)
			}
			first := ""
			if len(res.Hits) > 0 {
				first = res.Hits[0].Ref().String()
			}
			if res.Note != c.note || c.first != "" && first != c.first || !slices.Equal(res.Suggestions, c.suggestions) || (c.note == none) != (first == "") {
				t.Errorf("%s (scan %v): %q %q %q", c.text, scan, res.Note, first, res.Suggestions)
			}
		}
	}
	if res := k.search(Query{Text: "giraffe", Scope: "tool"}); !strings.Contains(res.Note, "a wider scope") {
		t.Errorf("%q", res.Note)
	}
}

// Words are found in other spellings: joined, split, inflected, with a typing error.
func TestSpellings(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.Put(k.Project, "knowledge/a/one.md", knowledge("One", "a", "The timezone of a server."))
	k.Put(k.Project, "knowledge/a/two.md", knowledge("Two", "a", "The time zone of a client."))
	k.Put(k.Project, "knowledge/a/three.md", knowledge("Three", "a", "Stopped services are restarted."))
	k.Put(k.Project, "knowledge/a/four.md", knowledge("Four", "a", "A zone of silence, a time of peace."))
	for text, want := range map[string][]string{
		"timezone ns:a":        {"knowledge:a/one", "knowledge:a/two"},
		"time zone ns:a":       {"knowledge:a/two", "knowledge:a/one", "knowledge:a/four"},
		"time-zone ns:a":       {"knowledge:a/one", "knowledge:a/two"},
		"restarting ns:a":      {"knowledge:a/three"},
		"stop service ns:a":    {"knowledge:a/three"},
		"timezome ns:a":        {"knowledge:a/one"},
		"what's silence ns:a":  {"knowledge:a/four"},
		"peace: silence? ns:a": {"knowledge:a/four"},
	} {
		got := k.ids(text)
		if text == "time zone ns:a" {
			slices.Sort(got[1:])
			slices.Sort(want[1:])
		}
		if strings.HasPrefix(text, "timezone ") || strings.HasPrefix(text, "time-zone ") {
			slices.Sort(got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// For a model, tools that no call executes are left out, unless it names them.
func TestExecutable(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	typed := func(name, of string) {
		k.Put(k.Project, "tools/zoo/"+name+".yaml", strings.Replace(tool("A zebra.", ""), "tool_type: script", "tool_type: "+of, 1))
	}
	typed("one", "script")
	typed("two", "runtime")
	typed("three", "mcp_server")
	k.Put(k.Project, "knowledge/zoo/four.md", knowledge("Zebra", "a", "A zebra."))
	few := []string{"knowledge:zoo/four", "tool:zoo/one"}
	every := []string{"knowledge:zoo/four", "tool:zoo/one", "tool:zoo/three", "tool:zoo/two"}
	tools := every[1:]
	for _, scan := range []bool{false, true} {
		for _, c := range []struct {
			q    Query
			want []string
		}{
			{Query{Text: "zebra", Executable: true}, few},
			{Query{Text: "zebra"}, every},
			{Query{Text: "zebra", Scope: "tool", Executable: true}, few[1:]},
			{Query{Text: "zebra", Scope: "tool.zoo.*", Executable: true}, tools},
			{Query{Text: "zebra ns:zoo", Executable: true}, every},
			{Query{Text: "zebra tool_type:runtime", Executable: true}, []string{"tool:zoo/two"}},
			{Query{Text: "zebra tool_type:mcp_server", Executable: true}, []string{"tool:zoo/three"}},
		} {
			res, err := k.index(scan).Search(t.Context(), c.q)
			if err != nil {
				t.Fatal(err)
			}
			got := refs(res)
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v (scan %v): %q, want %q", c.q, scan, got, c.want)
			}
		}
	}
}

func TestHitFields(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	long := strings.Repeat("wörd ", 60)
	k.Put(k.Project, "knowledge/a/b.md", "---\ntitle: A title\nversion: 2.1.0\ndescription: |\n  first\n  second "+long+"\n---\nbody\n")
	res := k.search(Query{Text: "ns:a"})
	h := res.Hits[0]
	if h.Type != "knowledge" || h.ID != "a/b" || h.Version != "2.1.0" || h.Title != "A title" || h.Source != "project" || h.Score != 0 || h.Path != ".ai/knowledge/a/b.md" {
		t.Errorf("%+v", h)
	}
	if n := len([]rune(h.Description)); n > MaxDescription || !strings.HasPrefix(h.Description, "first second wörd") || !strings.HasSuffix(h.Description, "…") {
		t.Errorf("%d: %q", n, h.Description)
	}
	for text, want := range map[string]string{"": "", " a\n\tb ": "a b", strings.Repeat("x", 160): strings.Repeat("x", 160), strings.Repeat("x", 161): strings.Repeat("x", 159) + "…"} {
		if got := OneLine(text); got != want {
			t.Errorf("OneLine(%q) = %q", text, got)
		}
	}
}
