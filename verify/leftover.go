package verify

import (
	"path"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/resolve/space"
)

// leftover is the finding about what a killed write left behind: a warning,
// since no id leads to such a name and nobody reads it. Only plain files of
// exactly that shape of name are meant.
func leftover(e space.Entry) (diag.Finding, bool) {
	if e.Type != 0 || !atomicfile.Temporary(path.Base(e.Rel)) {
		return diag.Finding{}, false
	}
	f := diag.Warnf(diag.FileSystemError, 0, 0, "an interrupted write left this file behind; nothing reads it")
	f.Fix = "remove it; rye sign does so for those older than five minutes"
	return f, true
}
