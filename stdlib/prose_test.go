package stdlib_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// Every input that a directive's text names is declared, and every item that
// it names by full id exists.
func TestDirectivesAreConsistent(t *testing.T) {
	r := resolver(t)
	every(t, func(it *resolve.Item) {
		if it.Ref.Kind != item.Directive {
			return
		}
		var declared []string
		for _, in := range it.Meta.Inputs {
			declared = append(declared, in.Name)
		}
		var used []string
		for _, m := range regexp.MustCompile(`\{input:([\w-]+)`).FindAllStringSubmatch(string(it.Meta.Body), -1) {
			used = append(used, m[1])
		}
		for _, name := range used {
			if !slices.Contains(declared, name) {
				t.Errorf("%s uses input %q, which it does not declare", it.Ref, name)
			}
		}
		for _, name := range declared {
			if !slices.Contains(used, name) && name != "language" {
				t.Errorf("%s declares input %q and never uses it", it.Ref, name)
			}
		}
		isText := slices.Contains(textDirectives(), it.Ref.ID)
		if len(it.Meta.Outputs) == 0 && !isText || len(it.Meta.Body) < 400 {
			t.Errorf("%s has %d outputs and %d bytes of instructions", it.Ref, len(it.Meta.Outputs), len(it.Meta.Body))
		}
		for word := range strings.SplitSeq(string(it.Meta.Body), "`") {
			checkNamed(t, r, it, word)
		}
	})
}

// textDirectives are the directives whose threads have a text as their result.
func textDirectives() []string {
	return []string{"rye/agent/core/base", "rye/agent/core/chat", "rye/agent/threads/thread_summary"}
}

func checkNamed(t *testing.T, r *resolve.Resolver, it *resolve.Item, word string) {
	if !strings.HasPrefix(word, "rye/") || item.CheckID(word) != nil {
		return
	}
	for _, k := range bootKinds() {
		if _, err := r.Find(context.Background(), item.Ref{Kind: k, ID: word}); err == nil {
			return
		}
	}
	t.Errorf("%s names %s, which does not exist", it.Ref, word)
}

// The examples in the metadata references are valid items.
func TestReferenceExamplesAreValid(t *testing.T) {
	ctx, r := t.Context(), resolver(t)
	for _, c := range []struct {
		from, fence, lang string
		ref               item.Ref
		ext               string
	}{
		{"tool-metadata-reference", "```", "python", item.Ref{Kind: item.Tool, ID: "acme/greet"}, ".py"},
		{"directive-metadata-reference", "````", "markdown", item.Ref{Kind: item.Directive, ID: "acme/summarise"}, ".md"},
		{"knowledge-metadata-reference", "```", "markdown", item.Ref{Kind: item.Knowledge, ID: "team/release"}, ".md"},
		{"config-metadata-reference", "```", "yaml", item.Ref{Kind: item.Config, ID: "acme/retry"}, ".yaml"},
	} {
		it, err := r.Find(ctx, item.Ref{Kind: item.Knowledge, ID: "rye/core/" + c.from})
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(it.Meta.Body), "\n"+c.fence+c.lang+"\n")
		text, _, ok := strings.Cut(rest, "\n"+c.fence+"\n")
		if !ok {
			t.Errorf("%s holds no %s example", c.from, c.lang)
			continue
		}
		e, err := r.Extractor(ctx, c.ref.Kind)
		if err != nil {
			t.Fatal(err)
		}
		ft, _ := e.Type("x" + c.ext)
		m, fs := e.Read(ft, []byte(text+"\n"))
		if fs = append(fs, e.Validate(c.ref, &m)...); len(fs) > 0 || m.Fallback || !strings.Contains(text, "rye:signed:") {
			t.Errorf("the example of %s: %v\n%s", c.from, fs, text)
		}
	}
}

// What the reference says about capabilities is what the reader makes of it.
func TestPermissionsBecomeCapabilities(t *testing.T) {
	it, err := resolver(t).Find(t.Context(), item.Ref{Kind: item.Directive, ID: "rye/core/create_knowledge"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"rye.search.knowledge.*", "rye.load.knowledge.*", "rye.execute.tool.rye.file-system.*", "rye.execute.knowledge.*", "rye.sign.knowledge.*"}
	got := slices.Clone(it.Meta.Permissions)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("permissions are %v, want %v", got, want)
	}
}

// The examples in the create directives are valid items: what a model copies
// from them signs.
func TestExamplesAreValid(t *testing.T) {
	ctx, r := t.Context(), resolver(t)
	in := map[string]string{"category": "acme", "name": "example", "description": "Do something.", "entry_type": "reference"}
	for _, c := range []struct {
		from, fence, lang string
		kind              item.Kind
		ext               string
	}{
		{"create_tool", "```", "python", item.Tool, ".py"},
		{"create_tool", "```", "bash", item.Tool, ".sh"},
		{"create_directive", "````", "markdown", item.Directive, ".md"},
		{"create_knowledge", "```", "markdown", item.Knowledge, ".md"},
	} {
		it, err := r.Find(ctx, item.Ref{Kind: item.Directive, ID: "rye/core/" + c.from})
		if err != nil {
			t.Fatal(err)
		}
		text := fenced(tmpl.Inputs(string(it.Meta.Body), in), c.fence, c.lang)
		if text == "" {
			t.Errorf("%s holds no %s example", c.from, c.lang)
			continue
		}
		e, err := r.Extractor(ctx, c.kind)
		if err != nil {
			t.Fatal(err)
		}
		ft, _ := e.Type("x" + c.ext)
		m, fs := e.Read(ft, []byte(text))
		fs = append(fs, e.Validate(item.Ref{Kind: c.kind, ID: "acme/example"}, &m)...)
		if len(fs) > 0 || m.Fallback {
			t.Errorf("the %s example of %s: %v\n%s", c.lang, c.from, fs, text)
		}
		if c.kind == item.Tool {
			if _, err := r.Find(ctx, item.Ref{Kind: item.Tool, ID: m.ExecutorID}); err != nil {
				t.Errorf("the %s example of %s: %v", c.lang, c.from, err)
			}
			if s, fs := schema.Compile(m.Schema); s == nil {
				t.Errorf("the schema in the %s example of %s: %v", c.lang, c.from, fs)
			}
		}
	}
}

// fenced returns the first fenced block of a language, its indentation taken
// away.
func fenced(text, fence, lang string) string {
	_, rest, ok := strings.Cut(text, "   "+fence+lang+"\n")
	if !ok {
		return ""
	}
	block, _, _ := strings.Cut(rest, "\n   "+fence+"\n")
	var out strings.Builder
	for line := range strings.Lines(block + "\n") {
		out.WriteString(strings.TrimPrefix(line, "   "))
	}
	return out.String()
}
