package graph

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/threads/transcript"
)

// fake is a Dispatcher with functions as items.
type fake struct {
	mu     sync.Mutex
	calls  []string
	params []map[string]any
	keys   map[string]int
	do     map[string]func(ctx context.Context, c Call) (any, error)
	digest byte
	graphs map[string]bool
	space  transcript.Space
}

func (f *fake) Target(_ context.Context, ref item.Ref) (Target, error) {
	if f.do[ref.ID] == nil {
		return Target{}, diag.New(diag.ItemNotFound, "finding %s: it does not exist", ref)
	}
	t := Target{Pure: ref.ID == "t/pure", Graph: f.graphs[ref.ID], Digest: item.Digest{f.digest}, Space: f.space}
	if ref.ID == "t/shell" {
		t.Schema = map[string]any{"properties": map[string]any{"command": map[string]any{"x-rye-shell": true}}}
	}
	return t, nil
}

func (f *fake) Call(ctx context.Context, c Call) (any, error) {
	f.mu.Lock()
	f.calls = append(f.calls, c.Ref.ID)
	f.params = append(f.params, c.Params)
	if f.keys == nil {
		f.keys = map[string]int{}
	}
	f.keys[c.Key]++
	f.mu.Unlock()
	return f.do[c.Ref.ID](ctx, c)
}

func newFake() *fake {
	return &fake{do: map[string]func(context.Context, Call) (any, error){
		"t/echo":  func(_ context.Context, c Call) (any, error) { return c.Params, nil },
		"t/pure":  func(_ context.Context, c Call) (any, error) { return c.Params, nil },
		"t/shell": func(_ context.Context, c Call) (any, error) { return c.Params, nil },
		"t/fail": func(context.Context, Call) (any, error) {
			return nil, diag.New(diag.ExecutionFailed, "running t/fail: exit status 1")
		},
	}}
}

func (f *fake) count(id string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.calls {
		if c == id {
			n++
		}
	}
	return n
}

func params(t testing.TB, f *fake) Params {
	t.Helper()
	priv, err := sign.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	signer := sign.NewFileSigner(priv, "test")
	dir := memory(t)
	if err := os.Mkdir(filepath.Join(dir, ".ai"), 0o755); err != nil {
		t.Fatal(err)
	}
	keys := func(fp sign.Fingerprint) ([]byte, bool) {
		return signer.Public(), fp == sign.FingerprintOf(signer.Public())
	}
	return Params{Project: dir, Dispatcher: f, Held: policy.Person(), Signer: signer, Keys: keys, Now: time.Now}
}

// memory returns a temporary directory in memory if there is one: some thousand fsyncs
// take long on a disk.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "graph")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// start runs a graph whose nodes are in YAML.
func start(t testing.TB, f *fake, text string, inputs map[string]any) (*Result, error) {
	t.Helper()
	return Start(t.Context(), parse(t, text), item.Digest{f.digest}, inputs, params(t, f))
}

func parse(t testing.TB, text string) *graphdef.Graph {
	t.Helper()
	doc, fs := yamlx.ParseItem([]byte(text))
	if doc == nil {
		t.Fatal(fs)
	}
	g, fs := graphdef.Parse(item.Ref{Kind: item.Tool, ID: "team/demo_graph"}, "demo.yaml", doc)
	if g == nil {
		t.Fatalf("%v\n%s", fs, text)
	}
	return g
}

const head = `
version: "1.0.0"
tool_type: graph
`
