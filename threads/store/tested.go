package store

import "context"

// Tested returns the items that a completed thread of a kind called, by ref, each with
// the digests that it had.
func (s *Store) Tested(ctx context.Context, kind string) (out map[string][]string, err error) {
	err = s.read(ctx, "reading", func(t *tx) error {
		rows, err := t.Query("SELECT DISTINCT ref, digest FROM threads WHERE kind = ? AND state = 'completed'", kind)
		if err != nil {
			return err
		}
		defer rows.Close()
		out = map[string][]string{}
		for rows.Next() {
			var ref, digest string
			if err := rows.Scan(&ref, &digest); err != nil {
				return err
			}
			out[ref] = append(out[ref], digest)
		}
		return rows.Err()
	})
	return out, err
}

// SetDigest records the digest of the item that a thread called in the end, if it was not
// complete when the thread was registered.
func (o *Owner) SetDigest(ctx context.Context, digest string) error {
	return o.write(ctx, "describing a thread in", func(t *tx) error {
		_, err := t.Exec("UPDATE threads SET digest = ? WHERE id = ?", digest, o.thread)
		return err
	})
}
