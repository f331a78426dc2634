package verify

import (
	"path"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/resolve/space"
)

// leftover returns a warning for the temporary file of an interrupted write. It is
// not an error, because no id has such a name. Only regular files match.
func leftover(e space.Entry) (diag.Finding, bool) {
	if e.Type != 0 || !atomicfile.Temporary(path.Base(e.Rel)) {
		return diag.Finding{}, false
	}
	f := diag.Warnf(diag.FileSystemError, 0, 0, "an interrupted write left this temporary file")
	return f.WithReason("leftover"), true
}
