package exec

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// yaml writes a tool with the given lines after the common ones.
func yaml(toolType, executor string, more ...string) string {
	return "version: \"1.0.0\"\ntool_type: " + toolType + "\nexecutor_id: " + executor + "\ndescription: A test.\n" + strings.Join(more, "\n") + "\n"
}

func tool(id string) item.Ref { return item.Ref{Kind: item.Tool, ID: id} }

// executor returns an Executor over h; change may set its Params.
func executor(h *testkit.Workspace, change func(*Params)) *Executor {
	h.T.Helper()
	bin := filepath.Join(h.Dir, "bin")
	p := Params{
		Resolver: resolve.New(resolve.Params{Spaces: h.Spaces(), Trust: h.Store()}), Cache: h.Cache, Project: h.Project,
		UserSpace: h.User, Environ: []string{"PATH=" + bin, "HOME=" + h.User, "SECRET=1"}, Self: filepath.Join(bin, "rye"), Now: h.Clock,
	}
	for _, name := range []string{"prog", "rye"} {
		program(h.T, filepath.Join(bin, name))
	}
	if change != nil {
		change(&p)
	}
	return New(p)
}

// program writes a file that a PATH search finds.
func program(t testing.TB, file string) {
	t.Helper()
	if filepath.Separator == '\\' && filepath.Ext(file) == "" {
		file += ".exe"
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func refs(c *Chain) string {
	var out []string
	for _, el := range c.Elements {
		out = append(out, el.Ref.ID)
	}
	return strings.Join(out, " ")
}

func TestChain(t *testing.T) {
	h := testkit.New(t)
	h.Put(h.Project, "tools/t.yaml", yaml("script", "my/rt"))
	h.Put(h.User, "tools/my/rt.yaml", yaml("runtime", Subprocess, "config: {command: prog}"))
	c, err := executor(h, nil).Chain(t.Context(), tool("t"))
	if err != nil || refs(c) != "t my/rt rye/core/primitives/subprocess" || c.Primitive().Ref.ID != Subprocess {
		t.Fatalf("%v", err)
	}
	e := executor(h, nil)
	if _, err := e.Chain(t.Context(), tool("none")); diag.CodeOf(err) != diag.ToolNotFound {
		t.Errorf("no tool: %v", err)
	}
}

func TestChainRefuses(t *testing.T) {
	rt := func(more ...string) string {
		return yaml("runtime", Subprocess, append(more, "config: {command: prog}")...)
	}
	for name, c := range map[string]struct {
		project, user map[string]string
		code          diag.Code
		part          string
	}{
		"cycle":               {map[string]string{"t": yaml("script", "a"), "a": yaml("runtime", "b"), "b": yaml("runtime", "a")}, nil, diag.CircularDependency, "tool:t -> tool:a -> tool:b leads back to tool:a"},
		"itself":              {map[string]string{"t": yaml("runtime", "t")}, nil, diag.CircularDependency, "tool:t leads back to tool:t"},
		"missing":             {map[string]string{"t": yaml("script", "no/rt")}, nil, diag.ExecutorNotFound, "named as executor_id by tool:t in project"},
		"bad id":              {map[string]string{"t": yaml("script", "../rt")}, nil, diag.Usage, "../rt"},
		"upwards":             {map[string]string{"rt": rt()}, map[string]string{"t": yaml("script", "rt")}, diag.ExecutorNotFound, "tool:rt"},
		"no runtime":          {map[string]string{"t": yaml("script", "u"), "u": yaml("script", Subprocess)}, nil, diag.ValidationFailed, `its tool_type is "script"`},
		"own primitive":       {map[string]string{"t": yaml("script", "p"), "p": yaml("primitive", "null")}, nil, diag.ExecutorNotFound, "not a primitive of rye"},
		"ends at once":        {map[string]string{"t": yaml("script", "null")}, nil, diag.ExecutorNotFound, "not a primitive of rye"},
		"too old":             {map[string]string{"t": yaml("script", "rt"), "rt": rt("child_constraints: {min_version: 1.0.1}")}, nil, diag.VersionMismatch, "older than min_version 1.0.1"},
		"too new":             {map[string]string{"t": yaml("script", "rt"), "rt": rt("child_constraints: {max_version: 0.9.0}")}, nil, diag.VersionMismatch, "newer than max_version 0.9.0"},
		"for this child":      {map[string]string{"t": yaml("script", "rt"), "rt": rt("child_constraints: {t: {min_version: 2.0.0}}")}, nil, diag.VersionMismatch, "older than min_version 2.0.0"},
		"constraint no range": {map[string]string{"t": yaml("script", "rt"), "rt": rt("child_constraints: {min_version: latest}")}, nil, diag.VersionMismatch, "not MAJOR.MINOR.PATCH"},
		"inputs":              {map[string]string{"t": yaml("script", "rt", "outputs: [a]"), "rt": rt("inputs: [a, b]")}, nil, diag.ValidationFailed, "needs b"},
		"extractor":           {map[string]string{"t": yaml("script", "rye/core/extractors/tool/tool_extractor")}, nil, diag.ValidationFailed, `tool_type is "extractor"`},
	} {
		h := testkit.New(t)
		for base, items := range map[string]map[string]string{h.Project: c.project, h.User: c.user} {
			for id, body := range items {
				h.Put(base, "tools/"+id+".yaml", body)
			}
		}
		_, err := executor(h, nil).Chain(t.Context(), tool("t"))
		if err == nil || !slices.ContainsFunc(all(err), func(f diag.Finding) bool { return f.Code == c.code && strings.Contains(f.Message, c.part) }) {
			t.Errorf("%s: %v, want %s with %q", name, err, c.code, c.part)
		}
	}
}

// all returns the findings of an error, itself when it has none.
func all(err error) []diag.Finding {
	if fs := diag.FindingsOf(err); len(fs) > 0 {
		return fs
	}
	return []diag.Finding{diag.Errorf(diag.CodeOf(err), 0, 0, "%s", err)}
}

func TestChainDepth(t *testing.T) {
	for n, code := range map[int]diag.Code{MaxChain: "", MaxChain + 1: diag.ChainTooDeep} {
		h := testkit.New(t)
		h.Put(h.Project, "tools/t.yaml", yaml("script", "r1"))
		for i := 1; i < n-2; i++ {
			h.Put(h.Project, fmt.Sprintf("tools/r%d.yaml", i), yaml("runtime", fmt.Sprintf("r%d", i+1)))
		}
		h.Put(h.Project, fmt.Sprintf("tools/r%d.yaml", n-2), yaml("runtime", Subprocess, "config: {command: prog}"))
		c, err := executor(h, nil).Chain(t.Context(), tool("t"))
		if diag.CodeOf(err) != code || code == "" && len(c.Elements) != MaxChain {
			t.Errorf("%d elements: %v with %d", n, err, len(c.Elements))
		}
	}
}

// A failing chain lists every finding, of every element and pair.
func TestChainListsEverything(t *testing.T) {
	h := testkit.New(t)
	h.Write(h.Project, "tools/t.yaml", yaml("script", "a"))
	h.Put(h.Project, "tools/a.yaml", yaml("runtime", "b", "child_constraints: {min_version: 2.0.0}"))
	h.Write(h.Project, "tools/b.yaml", string(h.Signed("tools/b.yaml", yaml("runtime", "none"), testkit.Key(9))))
	c, err := executor(h, nil).Chain(t.Context(), tool("t"))
	var codes []string
	for _, f := range diag.FindingsOf(err) {
		codes = append(codes, string(f.Code))
	}
	slices.Sort(codes)
	if got := strings.Join(codes, " "); got != "EXECUTOR_NOT_FOUND KEY_UNKNOWN UNSIGNED VERSION_MISMATCH" {
		t.Errorf("findings %s: %v", got, err)
	}
	if diag.CodeOf(err).Class() != diag.ClassTrust || refs(c) != "t a b" {
		t.Errorf("code %s, chain %s", diag.CodeOf(err), refs(c))
	}
}

// A chain in which anything is not trusted never comes back without an error.
func TestChainWithUntrustedLink(t *testing.T) {
	for _, broken := range []string{"t", "a", "b"} {
		h := testkit.New(t)
		for id, body := range map[string]string{"t": yaml("script", "a"), "a": yaml("runtime", "b"), "b": yaml("runtime", Subprocess, "config: {command: prog}")} {
			if id == broken {
				h.Write(h.Project, "tools/"+id+".yaml", string(h.Signed("tools/"+id+".yaml", body, testkit.Key(9))))
			} else {
				h.Put(h.Project, "tools/"+id+".yaml", body)
			}
		}
		if _, err := executor(h, nil).Chain(t.Context(), tool("t")); diag.CodeOf(err) != diag.KeyUnknown {
			t.Errorf("%s: %v", broken, err)
		}
	}
}
