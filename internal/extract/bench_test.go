package extract_test

import (
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
)

// BenchmarkRead measures reading and checking the metadata of one item of each
// sort with the boot table.
func BenchmarkRead(b *testing.B) {
	const schema = `{"type": "object", "properties": {"name": {"type": "string", "default": "world"}}, "additionalProperties": false}`
	for _, tc := range []struct{ name, rel, text string }{
		{"python", "tools/demo/x.py", "#!/usr/bin/env python3\n\"\"\"Greet.\"\"\"\nimport json\n\n__version__ = \"1.0.0\"\n__tool_type__ = \"script\"\n__executor_id__ = \"rye/core/runtimes/python_script_runtime\"\n__category__ = \"demo\"\n__tool_description__ = \"Greet.\"\nCONFIG_SCHEMA = {\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\"}}}\n\n\ndef main():\n    print(json.dumps({\"greeting\": \"hello\"}))\n\n\nmain()\n"},
		{"bash", "tools/demo/x.sh", "#!/usr/bin/env bash\n# version: 1.0.0\n# tool_type: script\n# executor_id: rye/core/runtimes/bash_runtime\n# category: demo\n# description: Greet.\n# config_schema: " + schema + "\necho hello\n"},
		{"yaml", "tools/demo/x.yaml", "version: 1.0.0\ntool_type: script\nexecutor_id: rye/core/primitives/subprocess\ncategory: demo\ndescription: Greet.\nconfig:\n  command: git\n  args: [log]\nconfig_schema: " + schema + "\n"},
		{"json", "tools/demo/x.json", "{\"version\": \"1.0.0\", \"tool_type\": \"script\", \"executor_id\": null, \"category\": \"demo\", \"description\": \"Greet.\", \"config_schema\": " + schema + "}\n"},
		{"directive", "directives/demo/x.md", "# Greet\n\nGreet.\n\n```xml\n<directive name=\"x\" version=\"1.0.0\">\n  <metadata>\n    <description>Greet.</description>\n    <category>demo</category>\n    <author>ada</author>\n    <permissions><load><knowledge>*</knowledge></load></permissions>\n  </metadata>\n  <inputs><input name=\"name\" type=\"string\" required=\"true\">Whom.</input></inputs>\n</directive>\n```\n\n1. Greet {input:name}.\n"},
		{"knowledge", "knowledge/demo/x.md", "---\nname: x\ntitle: \"Notes\"\nversion: 1.0.0\ncategory: \"demo\"\ndescription: \"What was learnt.\"\nentry_type: reference\ntags: [a, b]\n---\n\n# Notes\n\nRead before you write.\n"},
	} {
		b.Run(tc.name, func(b *testing.B) {
			p, ok := extract.Boot().Classify(tc.rel)
			if !ok || p.Ref == (item.Ref{}) {
				b.Fatalf("%s is not an item", tc.rel)
			}
			src := []byte(tc.text)
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				m, fs := p.Extractor.Read(p.Type, src)
				if fs = append(fs, p.Extractor.Validate(p.Ref, &m)...); diag.Failed(fs) {
					b.Fatal(fs)
				}
			}
		})
	}
}
