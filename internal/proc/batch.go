package proc

import (
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
)

// checkBatchArgs refuses arguments to a Windows batch file that cmd.exe reads as
// commands, variables or quotes. No quoting prevents that.
func checkBatchArgs(path string, argv []string) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".bat", ".cmd":
	default:
		return nil
	}
	for i, a := range argv[1:] {
		if strings.ContainsAny(a, "\"&|<>^%!()\r\n") {
			return diag.New(diag.ExecutionFailed, "starting program %q: argument %d contains a character that a batch file reads as a command", path, i+1).
				WithReason("batch_file")
		}
	}
	return nil
}
