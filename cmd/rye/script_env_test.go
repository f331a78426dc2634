package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/ryeos/rye/exec/sandbox"
)

// scriptConditions returns what scripts may ask of the machine beside what
// testscript knows: [mounts], a folder of its own can be mounted, [modes], plain
// runs a program as a user whom file modes bind, [root], files can be given to
// other users, [strict], the sandbox has namespaces, and [localmodel], .ci/run
// installed a small model. In CI, Linux without namespaces is an error and not a
// reason to skip a script.
func scriptConditions() func(string) (bool, error) {
	mounts := sync.OnceValue(func() bool {
		return exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", os.TempDir()).Run() == nil
	})
	modes := sync.OnceValue(func() bool {
		return os.Geteuid() > 0 || exec.Command("setpriv", append(unprivileged(), "true")...).Run() == nil
	})
	return func(name string) (bool, error) {
		switch name {
		case "mounts":
			return mounts(), nil
		case "modes":
			return modes(), nil
		case "root":
			return os.Geteuid() == 0, nil
		case "long": // what .ci/run adds to go test
			return os.Getenv("RYE_LONG") != "", nil
		case "localmodel":
			return os.Getenv("RYE_LOCAL_MODEL") != "", nil
		case "strict":
			l := sandbox.Probe()
			if l.Best != sandbox.Strict && runtime.GOOS == "linux" && os.Getenv("CI") != "" {
				return false, fmt.Errorf("the strict rung of the sandbox is not available: %+v", l.Layers)
			}
			return l.Best == sandbox.Strict, nil
		}
		return false, fmt.Errorf("there is no condition %q", name)
	}
}

// unprivileged are the words with which setpriv takes root's way around modes.
func unprivileged() []string {
	return []string{"--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"}
}

// cmdPlain is exitcode for somebody whom the modes of files bind, which they do
// not bind root.
func cmdPlain(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 2, "plain STATUS PROGRAM [ARG…]")
	if os.Geteuid() == 0 {
		args = append(append([]string{args[0], "setpriv"}, unprivileged()...), args[1:]...)
	}
	cmdExitcode(ts, neg, args)
}
