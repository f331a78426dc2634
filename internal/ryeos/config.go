package ryeos

import (
	"bytes"
	"maps"

	"github.com/ryeos/rye/diag"
)

// schemaVersion is the key of every configuration of rye. The original had none.
const schemaVersion = "schema_version"

// config adds the version of the schema.
func (t *translation) config() {
	if _, has := t.it.Meta.Fields[schemaVersion]; has {
		return
	}
	b := t.it.Bytes
	from := 0
	rest, ok := bytes.CutPrefix(b, []byte("---"))
	if ok { // the beginning of the document
		end := bytes.IndexByte(rest, '\n')
		if end >= 0 && len(bytes.TrimSpace(rest[:end])) == 0 {
			from = 3 + end + 1
		}
	}
	want := maps.Clone(t.it.Meta.Fields)
	if want == nil {
		return
	}
	want[schemaVersion] = "1.0.0"
	t.try(
		edit{from, from, schemaVersion + ": 1.0.0\n"},
		diag.Position{Line: 1, Column: 1},
		fields(want),
		"%s: 1.0.0 was added",
		schemaVersion,
	)
}
