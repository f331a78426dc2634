package cli

import (
	"path/filepath"
	"strings"
)

// InstallServer returns the command that installs the rye-server that belongs to a rye with this
// version and path. A development build has no version that can be fetched: its command runs in
// the directory of the source code.
func InstallServer(version, rye string) string {
	if version != "" && version != "(devel)" && !strings.Contains(version, "+dirty") {
		return "go install github.com/ryeos/rye/cmd/rye-server@" + version
	}
	dir := filepath.Dir(rye) + string(filepath.Separator)
	return "go build -o " + shellWord(dir) + " ./cmd/rye-server"
}
