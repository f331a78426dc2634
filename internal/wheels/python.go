package wheels

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
)

// Python is an interpreter.
type Python struct {
	Version string // 3.11.7
	Tag     string // the implementation and platform that wheels are for, such as cpython-311-linux-x86_64
	// Stdlib has the names of the modules of the standard library on all platforms. A Python
	// before 3.10 lists only those that it was built with.
	Stdlib []string
}

// probe runs without the site module and without the user's variables.
const probe = `import sys, sysconfig; print("%d.%d.%d" % sys.version_info[:3], sys.implementation.cache_tag + "-" + sysconfig.get_platform(), ",".join(getattr(sys, "stdlib_module_names", sys.builtin_module_names)))`

const probed = `^([0-9]+\.[0-9]+\.[0-9]+) ([A-Za-z0-9._-]{1,100}) ([A-Za-z0-9_,]+)$`

// Probe asks an interpreter for its version and platform.
func Probe(ctx context.Context, path string, env []string) (Python, error) {
	res, err := proc.Run(ctx, proc.Cmd{
		Path:    path,
		Argv:    []string{path, "-I", "-S", "-c", probe},
		Env:     env,
		Timeout: 10 * time.Second,
	})
	if err != nil {
		return Python{}, err
	}
	m := regexp.MustCompile(probed).FindStringSubmatch(strings.TrimSpace(string(res.Stdout)))
	if res.ExitCode != 0 || m == nil {
		return Python{}, diag.New(diag.ExecutionFailed, "asking %s for its version: it is not a Python 3", path)
	}
	return Python{Version: m[1], Tag: m[2], Stdlib: strings.Split(m[3], ",")}, nil
}
