package githook

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/privatekey"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// The bounds of the search in bytes: of one file, and of all files of a commit outside of
// .ai, of which the smallest are searched.
const (
	maxSearched = 16 << 20
	maxSearches = 128 << 20
)

// maxKept is the number of bytes of staged blobs that are kept after they were searched.
const maxKept = 8 << 20

// secrets finds private keys among the staged files, whatever their names: anywhere in a
// file below .ai, and elsewhere where privatekey.Line finds them. It also finds files at
// protected paths that tools do not even read: transcripts and keys. It keeps the blobs below .ai, which are read again as items.
func (s *session) secrets(ctx context.Context) (found []diag.Finding, err error) {
	var inside, outside []gitcmd.Change
	for _, c := range s.Changes {
		if c.Status == 'D' || c.Status == 'U' || !c.IsFile() {
			continue
		}
		row, _, ok := policy.Protected(c.Path)
		if ok && row.Secret {
			f := diag.Errorf(diag.PolicyDenied, 0, 0, "a file below %s is staged: %s", row.Path, row.Why).
				WithReason("secret_path", "path", word(c.Path))
			f.Path = c.Path
			found = append(found, f)
		}
		switch {
		case slices.ContainsFunc(s.Projects, func(p Project) bool { return strings.HasPrefix(c.Path, p.Prefix+space.Dir+"/") }):
			inside = append(inside, c)
		default:
			outside = append(outside, c)
		}
	}
	small, err := searched(ctx, s.Repo.Git, outside)
	if err != nil {
		return nil, err
	}
	all := append(inside, small...)
	if len(all) == 0 {
		return found, nil
	}
	oids := make([]string, len(all))
	for i, c := range all {
		oids[i] = c.OID
	}
	budget := int64(maxKept)
	lines := make([]int, len(all)) // of private keys, 0 for a file without one
	err = s.batch.Read(oids, maxSearched, func(i int, o gitcmd.Object) {
		if budget -= o.Size; i < len(inside) &&
			budget >= 0 &&
			o.Data != nil &&
			o.Size <= resolve.MaxItem {
			s.read[o.OID] = o.Data
		}
		lines[i] = privatekey.Line(o.Data, i < len(inside))
	})
	for i, line := range lines {
		if line == 0 {
			continue
		}
		f := diag.Errorf(diag.PolicyDenied, line, 1, "a private key is staged").
			WithReason("private_key", "path", word(all[i].Path))
		f.Path = all[i].Path
		found = append(found, f)
	}
	return found, err
}

// searched returns the changes whose blobs are within the bounds, the smallest first.
func searched(
	ctx context.Context,
	git *gitcmd.Git,
	changes []gitcmd.Change,
) ([]gitcmd.Change, error) {
	oids := make([]string, len(changes))
	order := make([]int, len(changes))
	for i, c := range changes {
		oids[i], order[i] = c.OID, i
	}
	sizes, err := git.Sizes(ctx, oids)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(sizes[a], sizes[b])
	})
	var out []gitcmd.Change
	left := int64(maxSearches)
	for _, i := range order {
		if sizes[i] > maxSearched || left < sizes[i] {
			break
		}
		left -= max(sizes[i], 0)
		out = append(out, changes[i])
	}
	return out, nil
}

// word quotes a path as one argument of a shell command.
func word(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' ||
			r >= 'A' && r <= 'Z' ||
			r >= '0' && r <= '9' ||
			strings.ContainsRune("._/+,@-", r)
	}
	switch {
	case strings.HasPrefix(path, "-"):
		return "-- " + word("./"+path)
	case strings.ContainsFunc(path, func(r rune) bool { return !plain(r) }):
		return quote(path)
	}
	return path
}
