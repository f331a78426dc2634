package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/resolve"
)

// schemaField is the path of the schema of a tool's parameters in its metadata.
const schemaField = "config_schema"

// orderedSchema writes the schema of an item with its keys in the order of the
// item's file: the author put what matters first. Keys without a position follow in
// alphabetical order.
func orderedSchema(schema map[string]any, it *resolve.Item) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := writeOrdered(&b, schema, schemaField, it); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func writeOrdered(b *bytes.Buffer, v any, path string, it *resolve.Item) error {
	m, ok := v.(map[string]any)
	if !ok {
		text, err := jsonx.Marshal(v)
		b.Write(text)
		return err
	}
	keys := slices.Sorted(maps.Keys(m))
	slices.SortStableFunc(keys, func(x, y string) int {
		p, pok := it.Meta.Pos[tree.Join(path, x)]
		q, qok := it.Meta.Pos[tree.Join(path, y)]
		if !pok || !qok {
			return cmp.Compare(btoi(!pok), btoi(!qok))
		}
		return cmp.Or(
			cmp.Compare(p.Line, q.Line),
			cmp.Compare(p.Column, q.Column),
		)
	})
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := jsonx.Marshal(k)
		if err != nil {
			return err
		}
		b.Write(append(name, ':'))
		err = writeOrdered(b, m[k], tree.Join(path, k), it)
		if err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
