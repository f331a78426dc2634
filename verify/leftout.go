package verify

import (
	"context"
	"maps"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
)

// LeftOut returns the files of a project that no bundle contains: the records of its runs
// and threads, and those that git ignores. A record has what people and models wrote, and
// its author alone trusts the key that signs it. ignored may be nil.
func LeftOut(ignored func(ctx context.Context, paths []string) (map[string]bool, error)) bundle.LeftOut {
	return func(ctx context.Context, paths []string) (map[string]bool, error) {
		out := map[string]bool{}
		for _, p := range paths {
			if isRecordFile(p) {
				out[p] = true
			}
		}
		if ignored == nil {
			return out, nil
		}
		by, err := ignored(ctx, paths)
		maps.Copy(out, by)
		return out, err
	}
}

func isRecordFile(p string) bool {
	for _, namespace := range trust.Records() {
		if strings.HasPrefix(p, space.Dir+"/knowledge/"+namespace) {
			return true
		}
	}
	return false
}
