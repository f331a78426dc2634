//go:build unix

package trust

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/ryeos/rye/diag"
)

// private refuses a file or directory that every account of the machine may
// write: a document in the user's directory makes a key the user's own.
func private(tier Tier, info fs.FileInfo) error {
	if tier == TierProject || info.Mode().Perm()&0o002 == 0 {
		return nil
	}
	return diag.New(diag.ConfigError, "every account may write it (mode %04o)", info.Mode().Perm()).WithReason("world_writable")
}

// mine refuses a file that another account may write, or wrote.
func mine(info fs.FileInfo) error {
	if info.Mode().Perm()&0o022 != 0 {
		return diag.New(diag.ConfigError, "other accounts may write it (mode %04o)", info.Mode().Perm())
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid != 0 && int(st.Uid) != os.Getuid() {
		return diag.New(diag.ConfigError, "another account wrote it")
	}
	return nil
}
