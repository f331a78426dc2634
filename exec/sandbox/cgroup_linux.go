package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupMount is where every distribution has version 2 of cgroups.
const cgroupMount = "/sys/fs/cgroup"

// cgroupPrefix begins the names of the cgroups of runs.
const cgroupPrefix = "rye-run-"

// Reserves in the limits of a cgroup, which includes the helper.
const (
	cgroupThreads = 32
	cgroupMemory  = 32 << 20
)

// delegatedCgroup returns the cgroup in which this process may create others, or why
// it cannot. It does not change during the life of a process.
var delegatedCgroup = sync.OnceValues(func() (*delegation, string) {
	var fs unix.Statfs_t
	err := unix.Statfs(cgroupMount, &fs)
	if err != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return nil, "not delegated: " + cgroupMount + " is not version 2 of cgroups"
	}
	path, err := ownCgroup()
	if err != nil {
		return nil, "not delegated: " + err.Error()
	}
	// Without its arguments the call is EINVAL. The filter of a container refuses it.
	_, _, no := unix.Syscall(unix.SYS_CLONE3, 0, 0, 0)
	if no == unix.ENOSYS || no == unix.EPERM {
		return nil, "a seccomp filter of this container refuses clone3"
	}
	_, err = os.Stat("/run/systemd/system")
	return delegationOf(cgroupMount, path, os.Geteuid() == 0 && err == nil)
})

// ownCgroup returns the path of the cgroup of this process below the mount.
func ownCgroup() (string, error) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		path, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "0::")
		if ok && !strings.HasPrefix(path, "/..") {
			return path, nil
		}
	}
	return "", errors.New("this process is in a cgroup that it does not see")
}

// delegationOf returns the cgroup at path or the one above it, whichever can have children
// with limits. The one above is the usual case: a cgroup with processes cannot give
// controllers to children. With marked, only a cgroup that systemd has marked as delegated is
// used: root can write all of them, and the cgroups of systemd must not be changed.
func delegationOf(mount, path string, marked bool) (*delegation, string) {
	dirs := []string{filepath.Join(mount, path)}
	if dirs[0] != mount {
		dirs = append(dirs, filepath.Dir(dirs[0]))
	}
	why := ""
	for _, dir := range dirs {
		d, reason := delegationAt(dir, marked)
		if d != nil {
			return d, ""
		}
		if why == "" || !strings.HasPrefix(reason, "not delegated") {
			why = reason
		}
	}
	return nil, why
}

func delegationAt(dir string, marked bool) (*delegation, string) {
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if unix.Faccessat(unix.AT_FDCWD, filepath.Join(dir, name), unix.W_OK, unix.AT_EACCESS) != nil {
			return nil, "not delegated: this user cannot write " + dir
		}
	}
	if marked && !isMarked(dir) {
		return nil, "not delegated: systemd manages " + dir + " (Delegate=yes delegates one)"
	}
	d := &delegation{dir: dir, memory: enabled(dir, "memory"), pids: enabled(dir, "pids")}
	if !d.memory && !d.pids {
		return nil, "the controllers memory and pids are not available to children of " + dir
	}
	return d, ""
}

// isMarked reports whether systemd has marked a cgroup as delegated.
func isMarked(dir string) bool {
	var b [8]byte
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		n, err := unix.Getxattr(dir, name, b[:])
		if err == nil && string(b[:n]) == "1" {
			return true
		}
	}
	return false
}

// enabled reports whether children of a cgroup have a controller, and enables it where
// that is possible: the cgroup has it, is not the root of the machine, and has no
// processes.
func enabled(dir, controller string) bool {
	has := func(name string) bool {
		b, err := os.ReadFile(filepath.Join(dir, name))
		return err == nil && slices.Contains(strings.Fields(string(b)), controller)
	}
	if has("cgroup.subtree_control") {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "cgroup.type"))
	return err == nil &&
		has("cgroup.controllers") &&
		writeText(filepath.Join(dir, "cgroup.subtree_control"), "+"+controller) == nil
}

// layer describes the layer of a system with the delegation, or without one because of
// why.
func (d *delegation) layer(why string) Layer {
	if d == nil {
		return Layer{Name: layerCgroup, Why: why}
	}
	what := []string{}
	if d.memory {
		what = append(what, "memory")
	}
	if d.pids {
		what = append(what, "pids")
	}
	return Layer{Name: layerCgroup, OK: true, Why: strings.Join(what, " and ") + " below " + d.dir}
}

// cgroup is the cgroup of one run: the helper, the program and all of its children. Its
// lock shows others that it is in use, and ends with this process in any case.
type cgroup struct {
	in  *delegation
	dir string
	fd  int
}

// newCgroup creates a cgroup. It first removes the cgroups of processes that were killed.
// The next run removes the directory of a killed one. A lock on the directory shows its end:
// process ids would not distinguish two PID namespaces.
func newCgroup(in *delegation) (*cgroup, error) {
	in.sweep()
	for range 5 {
		dir, err := os.MkdirTemp(in.dir, cgroupPrefix)
		if err != nil {
			return nil, err
		}
		if fd, ok := lockCgroup(dir); ok {
			return &cgroup{in: in, dir: dir, fd: fd}, nil
		} // another process swept it away before it was locked
	}
	return nil, fmt.Errorf("cgroups in %s disappear", in.dir)
}

// lockCgroup opens and locks a cgroup that exists.
func lockCgroup(dir string) (fd int, ok bool) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, false
	}
	var at, opened unix.Stat_t
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil ||
		unix.Fstat(fd, &opened) != nil ||
		unix.Stat(dir, &at) != nil ||
		at.Ino != opened.Ino {
		unix.Close(fd)
		return -1, false
	}
	return fd, true
}

// sweep removes the cgroups whose processes of rye have ended without removing them.
func (d *delegation) sweep() {
	left, _ := filepath.Glob(filepath.Join(d.dir, cgroupPrefix+"*"))
	for _, dir := range left {
		if fd, ok := lockCgroup(dir); ok {
			(&cgroup{in: d, dir: dir, fd: fd}).close()
		}
	}
}

// limit sets the limits. Memory includes what the program has in its private file system.
// The cgroup includes the helper, since moving a process later takes the kernel milliseconds:
// memory.max is 288 MiB more, pids.max 32 more, and the helper measures the exact limits. No key
// limits a rate, so cpu.max is not set.
func (c *cgroup) limit(memory, processes int64) error {
	if c.in.memory {
		err := c.write("memory.max", strconv.FormatInt(memory+cgroupMemory, 10))
		if err != nil {
			return err
		}
		_ = c.write("memory.swap.max", "0") // a kernel without swap has no such file
		// One that is beyond it ends with all others, so that no half of a run continues.
		_ = c.write("memory.oom.group", "1")
	}
	if c.in.pids {
		return c.write("pids.max", strconv.FormatInt(processes+cgroupThreads, 10))
	}
	return nil
}

func (c *cgroup) write(name, text string) error {
	return writeText(filepath.Join(c.dir, name), text)
}

// writeText writes to a file that exists.
func writeText(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// enclose makes a process start in the cgroup.
func (c *cgroup) enclose(a *syscall.SysProcAttr) {
	if c != nil {
		a.UseCgroupFD = true
		a.CgroupFD = c.fd
	}
}

// exceeded returns the limit that the kernel enforced, "" if none, and what it measured.
func (c *cgroup) exceeded() (limit string, measured int64) {
	if c == nil {
		return "", 0
	}
	if c.events("memory.events", "oom_kill") > 0 {
		b, _ := os.ReadFile(filepath.Join(c.dir, "memory.peak")) // since Linux 5.19
		peak, _ := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
		return "memory_mb", peak >> 20
	}
	if c.events("pids.events", "max") > 0 {
		return "processes", 0
	}
	return "", 0
}

// events returns a number of a file with one name and number in each line.
func (c *cgroup) events(file, name string) int64 {
	b, _ := os.ReadFile(filepath.Join(c.dir, file)) // the file exists with the controller only
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			return n
		}
	}
	return 0
}

// kill ends all processes of the cgroup.
func (c *cgroup) kill() {
	if c != nil {
		_ = c.write("cgroup.kill", "1") // since Linux 5.14: the helper has ended them before
	}
}

// close ends all processes and removes the cgroup. The kernel permits that when it has
// taken the last process apart. What cannot be removed in a second is left to sweep.
func (c *cgroup) close() {
	if c == nil {
		return
	}
	c.kill()
	events, err := os.Open(filepath.Join(c.dir, "cgroup.events"))
	if err == nil {
		defer events.Close()
	}
	for end := time.Now().Add(time.Second); ; {
		err := unix.Rmdir(c.dir)
		if err != unix.EBUSY || time.Now().After(end) || events == nil {
			break
		}
		// The file changes when the last process is gone.
		b := make([]byte, 256)
		_, _ = events.ReadAt(b, 0)
		if !bytes.Contains(b, []byte("populated 0")) {
			_, _ = unix.Poll(
				[]unix.PollFd{{Fd: int32(events.Fd()), Events: unix.POLLPRI}},
				50,
			)
		}
	}
	unix.Close(c.fd)
}
