package verify_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/stdlib"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
	"github.com/ryeos/rye/verify"
)

// benchItems are one item of each sort that projects are made of.
var benchItems = []struct {
	kind       item.Kind
	folder     string
	ext, style string
	text       string
}{
	{item.Tool, "tools", ".py", "#", "#!/usr/bin/env python3\n\"\"\"Greet.\"\"\"\nimport json, sys\n\n__version__ = \"1.0.0\"\n__tool_type__ = \"script\"\n__executor_id__ = \"rye/core/runtimes/python_script_runtime\"\n__category__ = \"demo\"\n__tool_description__ = \"Greet by name.\"\n\nCONFIG_SCHEMA = {\n    \"type\": \"object\",\n    \"properties\": {\"name\": {\"type\": \"string\", \"default\": \"world\"}},\n    \"additionalProperties\": False,\n}\n\n\ndef main():\n    params = json.load(sys.stdin)\n    print(json.dumps({\"greeting\": \"hello \" + params[\"name\"]}))\n\n\nmain()\n"},
	{item.Tool, "tools", ".sh", "#", "#!/usr/bin/env bash\n# version: 1.0.0\n# tool_type: script\n# executor_id: rye/core/runtimes/bash_runtime\n# category: demo\n# description: Greet by name.\n# config_schema: {\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\"}}}\necho hello \"$RYE_PARAM_NAME\"\n"},
	{item.Tool, "tools", ".yaml", "#", "version: 1.0.0\ntool_type: script\nexecutor_id: rye/core/primitives/subprocess\ncategory: demo\ndescription: Show the latest commits.\nconfig:\n  command: git\n  args: [log, --oneline]\nconfig_schema:\n  type: object\n  additionalProperties: false\n"},
	{item.Knowledge, "knowledge", ".md", "<!--", "---\nname: NAME\ntitle: \"Notes\"\nversion: 1.0.0\ncategory: \"demo\"\ndescription: \"What was learnt.\"\nentry_type: reference\ntags: [a, b]\n---\n\n# Notes\n\nRead before you write.\n"},
}

func benchProject(b *testing.B, n int) (verify.Params, *space.Root) {
	b.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{0x2a}, 32))
	signer := sign.NewFileSigner(key, "bench")
	dir := b.TempDir()
	for i := range n {
		t := benchItems[i%len(benchItems)]
		ref := item.Ref{Kind: t.kind, ID: fmt.Sprintf("demo/item_%05d", i)}
		style, _ := sign.StyleByName(t.style)
		text := bytes.ReplaceAll([]byte(t.text), []byte("NAME"), []byte(ref.Name()))
		signed, _, err := sign.Sign(b.Context(), text, style, extract.Subject(ref), signer, time.Now())
		if err != nil {
			b.Fatal(err)
		}
		path := filepath.Join(dir, space.Dir, t.folder, ref.ID+t.ext)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, signed, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	every := doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign"}}
	dev, err := hex.DecodeString(stdlib.DevPublic)
	if err != nil {
		b.Fatal(err)
	}
	store, _ := trust.Load(trust.Params{Anchors: []trust.Anchor{
		{Public: key.Public().(ed25519.PublicKey), Owner: "bench", Scope: every},
		{Public: dev, Owner: "dev", Scope: every, EmbeddedOnly: true},
	}})
	spaces, err := space.Discover(space.Params{Project: dir, System: stdlib.FS(), Layer: stdlib.Bundle})
	if err != nil {
		b.Fatal(err)
	}
	r := resolve.New(resolve.Params{Spaces: spaces, Trust: store, NoCache: true})
	return verify.Params{Resolver: r, Trust: store}, spaces.Of(space.Project)
}

func BenchmarkRoot(b *testing.B) {
	const n = 1000
	p, root := benchProject(b, n)
	b.ReportAllocs()
	for b.Loop() {
		report, err := verify.Root(context.Background(), p, root)
		if err != nil || report.Failed() || len(report.Files) != n {
			b.Fatalf("%v: %d files, findings %v", err, len(report.Files), report.Findings)
		}
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "files/s")
}
