package proc

import (
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
)

// batchProblem refuses arguments to a Windows batch file that cmd.exe would
// read as commands, variables or quotes: no quoting holds there.
func batchProblem(path string, argv []string) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".bat", ".cmd":
	default:
		return nil
	}
	for i, a := range argv[1:] {
		if strings.ContainsAny(a, "\"&|<>^%!()\r\n") {
			return diag.New(diag.ExecutionFailed, "starting program %q: argument %d holds a character that a batch file would take for a command", path, i+1).
				WithHint("run the program behind the batch file directly, or hand the value over on stdin")
		}
	}
	return nil
}
