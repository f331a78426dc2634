package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

// maxQuarantined bounds the list in an error.
const maxQuarantined = 64

// quarantine moves protected paths that appeared during a run out of a writable
// directory: an absent path cannot be protected in a directory that is writable. The
// program has ended, and nothing of it runs. number is the first of the names.
func quarantine(root, to string, number int, before guarded, protect func(string) (policy.ProtectedPath, string, bool)) (moved []string, err error) {
	known := map[string]bool{}
	for _, p := range slices.Concat(before.fixed, before.secret) {
		known[p] = true
	}
	after := findProtected(root, protect)
	var added []string
	for _, p := range slices.Concat(after.fixed, after.secret) {
		if !known[p] && !below(p, to) { // the result directory may be in .ai, which a first run creates
			added = append(added, p)
		}
	}
	if len(added) == 0 {
		return nil, nil
	}
	if to == "" {
		return nil, fmt.Errorf("there is no directory for %s", added[0])
	}
	slices.Sort(added)
	for i, p := range added {
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return moved, err
		}
		name := fmt.Sprintf("%03d-%s", number+i, strings.ReplaceAll(filepath.ToSlash(rel), "/", "%"))
		if err := move(p, filepath.Join(to, name)); err != nil {
			return moved, err
		}
		moved = append(moved, p)
	}
	return moved, nil
}

// move moves a file or directory. The target does not exist.
func move(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// quarantined returns POLICY_DENIED for paths that were moved, or for those that could
// not be.
func quarantined(moved []string, to string, failed error) error {
	if failed == nil && len(moved) == 0 {
		return nil
	}
	first := ""
	if len(moved) > 0 {
		first = moved[0]
	}
	e := diag.New(diag.PolicyDenied, "running in the sandbox: the program created %d protected paths, such as %q; they were moved to %q", len(moved), first, to)
	if failed != nil {
		e = diag.New(diag.PolicyDenied, "running in the sandbox: the program created a protected path that could not be removed: %w", failed)
	}
	return e.WithReason("sandbox_quarantine").WithDetail("quarantined", moved[:min(len(moved), maxQuarantined)]).
		WithDetail("quarantined_count", len(moved)).WithDetail("directory", to)
}
