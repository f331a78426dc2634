package resolve

import "sync"

// kept are values that were derived from the metadata of one content.
type kept struct{ m sync.Map }

// Derive returns the value that derive makes of the metadata of the item. Items that have their
// metadata in common, because their content is the same, have the value in common too,
// which no caller may change. An error is not kept: it names the file.
func Derive[T any](
	it *Item,
	key any,
	derive func() (T, error),
) (T, error) {
	if it.kept != nil {
		if v, ok := it.kept.m.Load(key); ok {
			return v.(T), nil
		}
	}
	v, err := derive()
	if err == nil && it.kept != nil {
		it.kept.m.Store(key, v)
	}
	return v, err
}
