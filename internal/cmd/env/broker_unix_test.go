//go:build unix

package env

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/resolve"
)

// TestBrokerEnds shows that a process which keeps the program's end of the connection
// gets nothing more once the program has ended: no answer, no call, no descriptor of
// this process.
func TestBrokerEnds(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.Project, "knowledge/k.md", "---\ntitle: K\nversion: 1.0.0\n---\n\nText.\n")
	w := &agent.Workspace{
		Verbs:    primary.New(primary.Params{Resolver: resolve.New(resolve.Params{Spaces: h.Spaces(), Trust: h.Store()}), Dir: h.Project, Now: h.Clock}),
		Settings: &agent.Settings{Sign: agent.SignDeny},
	}
	b, err := agent.NewBroker(t.Context(), policy.Person(), func() (exec.Call, bool) { return exec.Call{}, true }, "", func(context.Context, exec.Call) (*agent.Workspace, error) { return w, nil })
	if err != nil {
		t.Fatal(err)
	}
	c := &cli.Call{World: &cli.World{}, UI: &cli.UI{Stderr: &bytes.Buffer{}}}
	conn, err := serveBroker(c)(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := syscall.Dup(int(conn.File().Fd())) // what a child of the program has
	if err != nil {
		t.Fatal(err)
	}
	child := os.NewFile(uintptr(kept), "kept")
	defer child.Close()
	conn.File().Close()

	const load = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"load","arguments":{"item_type":"knowledge","item_id":"k"},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n"
	answers := bufio.NewReader(child)
	if _, err := io.WriteString(child, load); err != nil {
		t.Fatal(err)
	}
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, `\"success\":true`) {
		t.Fatalf("before the end: %q, %v", line, err)
	}
	conn.End()
	_, werr := io.WriteString(child, load)
	if line, err := answers.ReadString('\n'); err == nil || line != "" {
		t.Errorf("after the end: %q (writing: %v)", line, werr)
	}
	if made := conn.Wait(); len(made.List) != 1 || made.List[0].Ref != "knowledge:k" || !made.List[0].Success {
		t.Errorf("calls %+v", made)
	}
}
