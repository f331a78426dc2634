package lock

import (
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// CheckSigned returns LOCK_MISMATCH for entries of releases without the manifest or
// its signers. rye writes both for every release. Without them neither the files
// of the bundle nor a change of its signers would be compared with anything.
func (l *Lock) CheckSigned() error {
	if l == nil {
		return nil
	}
	var fs []diag.Finding
	for _, b := range l.Bundles {
		if b.Sum == "" {
			continue
		}
		var missing []string
		if b.Manifest == (item.Digest{}) {
			missing = append(missing, "manifest")
		}
		if len(b.Signers) == 0 {
			missing = append(missing, "signer")
		}
		if len(missing) > 0 {
			f := diag.Errorf(
				diag.LockMismatch,
				0,
				0,
				"the entry of %s has no %s",
				b.Module(),
				strings.Join(missing, " and no "),
			)
			fs = append(fs, f.WithReason("lock_edited"))
		}
	}
	return diag.FromFindings("checking "+LockFile, diag.WithPath(fs, LockFile))
}
