package doctor

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/owner"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/userdirs"
)

//go:embed programs.txt
var doctorPrograms string

// probeTime is the time limit for a program that prints its version.
const probeTime = 5 * time.Second

// checkPrograms finds the programs that items and verbs may call.
func checkPrograms(ctx context.Context, c *cli.Call) []checkResult {
	var rows [][]string
	for line := range strings.Lines(doctorPrograms) {
		cols := strings.Split(strings.TrimSpace(line), "\t")
		if len(cols) == 3 {
			rows = append(rows, cols)
		}
	}
	env := proc.Own(c.Environ(), c.Base, c.Dir)
	out := make([]checkResult, len(rows))
	var wg sync.WaitGroup
	for i, r := range rows {
		wg.Go(func() {
			out[i] = probe(ctx, env, r[0], r[1], r[2])
		})
	}
	wg.Wait()
	return out
}

// probe runs one program with its version argument. A program of the project is not
// used: rye does not use it either.
func probe(ctx context.Context, env []string, name, arg, need string) checkResult {
	path, err := proc.LookPath(name, env)
	if err != nil {
		return checkResult{name, statusWarn, "not on PATH; needed for " + need, "install it, or add its directory to PATH"}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, arg)
	cmd.Env = env
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return checkResult{name, statusWarn, fmt.Sprintf("%s does not run: %v", path, err), "repair or reinstall it"}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return checkResult{name, statusOK, fmt.Sprintf("%s (%s)", strings.TrimSpace(first), path), ""}
}

// checkUserDirs reports whether rye can write to its own directories, and whether
// another user can.
func checkUserDirs(_ context.Context, c *cli.Call) []checkResult {
	d := userdirs.For(c.Getenv, runtime.GOOS)
	sudo := c.Getenv("SUDO_UID")
	return []checkResult{
		checkOwnDir("config directory", d.Config, sudo), checkOwnDir("data directory", d.Data, sudo),
		checkOwnDir("state directory", d.State, sudo), checkCacheDir(c),
	}
}

// checkOwnDir is checkDir for a directory that no other user may control. A
// directory above it that another user controls is a warning: rye works, but that
// user can replace the directory.
func checkOwnDir(name, dir, sudo string) checkResult {
	r := checkDir(name, dir)
	if r.Status != statusOK {
		return r
	}
	if err := owner.Private(dir, sudo); err != nil {
		return checkResult{name, statusFail, err.Error(), "make it yours, and writable by no other user (chmod go-w)"}
	}
	err := owner.Sealed(filepath.Dir(dir))
	if err != nil && sudo == "" {
		return checkResult{name, statusWarn, err.Error() + ": that user can replace " + dir, "use a directory below your home"}
	}
	return r
}

// checkCacheDir reports which cache directory rye uses, and why not the user's.
func checkCacheDir(c *cli.Call) checkResult {
	const name = "cache directory"
	found, err := env.Of(c).Cache()
	switch {
	case err != nil:
		return checkResult{name, statusFail, err.Error(), "name a directory with RYE_CACHE that only you can write"}
	case found.Refused != nil:
		return checkResult{name, statusWarn, fmt.Sprintf("%v: rye uses %s", found.Refused, found.Dir), "make the directory yours, and writable by no other user"}
	}
	return checkDir(name, cmp.Or(
		c.Getenv("RYE_CACHE"),
		userdirs.For(c.Getenv, runtime.GOOS).Cache,
	))
}

func checkDir(name, dir string) checkResult {
	if dir == "" {
		return checkResult{name, statusFail, "the environment does not define it", "set HOME"}
	}
	at, info, err := nearestDir(dir)
	switch {
	case err != nil:
		return checkResult{name, statusFail, err.Error(), "make the directory readable"}
	case !info.IsDir():
		return checkResult{name, statusFail, at + " is not a directory", "remove or rename that file"}
	}
	// Permission bits are not sufficient (root, ACLs, read-only mounts).
	if err := atomicfile.Private(at).Probe(); err != nil {
		return checkResult{name, statusFail, err.Error(), "make " + at + " writable"}
	}
	if at != dir {
		return checkResult{name, statusOK, dir + " (created on first use)", ""}
	}
	return checkResult{name, statusOK, dir, ""}
}

// nearestDir returns dir, or its nearest parent that exists.
func nearestDir(dir string) (string, fs.FileInfo, error) {
	for {
		info, err := os.Stat(dir)
		if err == nil {
			return dir, info, nil
		}
		up := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || up == dir {
			return dir, nil, err
		}
		dir = up
	}
}

// checkClock compares the clock with the time of the installation. Signatures
// contain times, so a wrong clock makes valid signatures invalid.
func checkClock(_ context.Context, c *cli.Call) []checkResult {
	now := c.Now().UTC()
	detail := now.Format(time.RFC3339)
	if floor := clockFloor(c.Self); now.Before(floor) {
		return []checkResult{{"clock", statusFail, fmt.Sprintf(
			"%s is before the time when this rye was installed (%s)",
			detail,
			floor.Format(time.RFC3339),
		), "set the clock"}}
	}
	return []checkResult{{"clock", statusOK, detail, ""}}
}

// clockFloor returns a time that has certainly passed: one day before the
// executable's modification time, or the zero time if that is unknown.
func clockFloor(self string) time.Time {
	info, err := os.Stat(self)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime().UTC().Add(-24 * time.Hour)
}
