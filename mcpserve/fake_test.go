package mcpserve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/primary/agent"
)

// fake are verbs whose execute is controlled by its item_id.
type fake struct {
	started chan string // hears of calls that wait
	ended   chan error  // hears why one has ended
	prompts []agent.Prompt
}

func newFake() *fake {
	return &fake{started: make(chan string, 100), ended: make(chan error, 100), prompts: []agent.Prompt{{
		Name: "demo/greet", Title: "Greet", Description: "Greet a user",
		Arguments: []agent.PromptArgument{{Name: "name", Description: "whom", Required: true}},
	}}}
}

func (f *fake) Definitions(context.Context) (*agent.Definitions, error) {
	d := &agent.Definitions{Instructions: "Search, load, execute."}
	for _, name := range []string{"execute", "load", "search", "sign"} {
		d.Tools = append(d.Tools, agent.Definition{
			Name: name, Title: strings.ToUpper(name), Description: "The verb " + name,
			InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"item_id":{"type":"string"}}}`),
			Hints:       agent.Hints{ReadOnly: name == "search", Destructive: name == "execute"},
		})
	}
	return d, nil
}

func (f *fake) Call(ctx context.Context, req agent.Request) *agent.Reply {
	var args struct {
		ItemID string `json:"item_id"`
	}
	if err := json.Unmarshal(req.Args, &args); err != nil {
		return failed("PARSING_ERROR", err.Error())
	}
	what, rest, _ := strings.Cut(args.ItemID, " ")
	switch what {
	case "":
		return &agent.Reply{Text: []byte(`{"success":true,"data":"<hello> & co"}`), Structured: json.RawMessage(`{"total":0}`)}
	case "wait":
		f.started <- rest
		<-ctx.Done()
		f.ended <- context.Cause(ctx)
		return failed("CANCELLED", "cancelled")
	case "panic":
		panic("the handler of a test goes wrong in /home/ada")
	case "gone":
		return &agent.Reply{Unknown: true}
	case "ask":
		return f.askFirst(ctx, req)
	}
	return failed("UNKNOWN_PARAMETER", "unknown key, did you mean item_id?")
}

func (f *fake) askFirst(ctx context.Context, req agent.Request) *agent.Reply {
	if req.Ask == nil {
		return failed("APPROVAL_REQUIRED", "this client cannot ask")
	}
	yes, err := req.Ask(ctx, agent.Asked{Question: "Sign drafts/x?"})
	if err != nil {
		return failed("APPROVAL_DENIED", err.Error())
	}
	return &agent.Reply{Text: fmt.Appendf(nil, `{"success":true,"data":%v}`, yes)}
}

func failed(code, message string) *agent.Reply {
	return &agent.Reply{Failed: true, Text: fmt.Appendf(nil, `{"success":false,"error":{"code":%q,"message":%q}}`, code, message)}
}

func (f *fake) Prompts(context.Context) ([]agent.Prompt, error) { return f.prompts, nil }

func (f *fake) Prompt(_ context.Context, name string, args map[string]string) (*agent.PromptText, error) {
	if name == "broken" {
		return nil, diag.New(diag.FileSystemError, "reading /home/ada/x: permission denied")
	}
	if name == "wrong" {
		var fs []diag.Finding
		for _, s := range []string{"$.a must be a whole number", "/home/ada/b is none", "$.c is missing"} {
			fs = append(fs, diag.Errorf(diag.ValidationFailed, 0, 0, "%s", s))
		}
		return nil, diag.FromFindings("checking the inputs of directive:wrong", fs)
	}
	if name == "raw" {
		return nil, diag.New(diag.ItemNotFound, "reading %s: there is none", args["x"])
	}
	if !slices.ContainsFunc(f.prompts, func(p agent.Prompt) bool { return p.Name == name }) {
		return nil, diag.New(diag.ItemNotFound, "resolving directive %q: there is none", name)
	}
	return &agent.PromptText{Description: "Greet a user", Text: "Say hello to " + args["name"]}, nil
}

func (f *fake) Resources(context.Context) ([]agent.Resource, error) {
	return []agent.Resource{{URI: "rye://knowledge/demo/facts", Name: "demo/facts", Title: "Facts", MIMEType: "text/markdown", Size: 7}}, nil
}

func (f *fake) Resource(_ context.Context, uri string) (string, string, error) {
	if uri != "rye://knowledge/demo/facts" {
		return "", "", diag.New(diag.ItemNotFound, "resolving knowledge %q: there is none", uri)
	}
	return "# Facts", "text/markdown", nil
}

func newTestServer(f *fake) *Server {
	return New(Params{Verbs: f, Name: "rye", Title: "RYE", Version: "1.2.3", Home: "/home/ada"})
}

// field follows a dotted path through a JSON value: names, and numbers in lists.
func field(v any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i := 0
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// demand compares a value with what it should print as; "*" is anything that
// is there, "-" nothing.
func demand(t *testing.T, doc any, path, want string) {
	t.Helper()
	v := field(doc, path)
	got := fmt.Sprint(v)
	switch {
	case want == "*" && v != nil, want == "-" && v == nil, got == want:
		return
	}
	t.Errorf("%s is %v, want %s\n in %v", path, got, want, doc)
}
