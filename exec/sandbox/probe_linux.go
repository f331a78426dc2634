package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Probe returns the layers of this system. It starts no process and takes less than a
// millisecond: a layer that turns out not to work makes the run fail with
// SANDBOX_UNAVAILABLE.
func Probe() Ladder {
	noUser := missingUserNamespaces()
	var l Ladder
	for _, name := range namespaces() {
		why := noUser
		if why == "" && name == layerPID {
			why = missingProc()
		}
		l.Layers = append(l.Layers, Layer{Name: name, OK: why == "", Why: why})
	}
	abi := landlockABI()
	lock := Layer{Name: layerLandlock, OK: abi > 0, Why: fmt.Sprintf("ABI %d", abi)}
	if abi == 0 {
		lock.Why = "the kernel is older than 5.13, or was started without it (lsm=)"
	}
	sec := Layer{Name: layerSeccomp, OK: true}
	_, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	if err != nil {
		sec = Layer{Name: layerSeccomp, Why: "the kernel has no seccomp"}
	} else if auditArch == 0 {
		sec = Layer{Name: layerSeccomp, Why: "rye has no filter for " + runtime.GOARCH}
	}
	group, why := delegatedCgroup()
	l.cgroup = group
	l.Layers = append(
		l.Layers,
		lock,
		sec,
		Layer{Name: layerRlimits, OK: true},
		group.layer(why),
	)
	switch {
	case !lock.OK || !sec.OK:
		l.Best = Basic
	case l.Has(layerPID):
		l.Best = Strict
	default:
		l.Best = Landlock
	}
	return l
}

// missingUserNamespaces returns why this process cannot create a user namespace with
// rights in it, or "".
func missingUserNamespaces() string {
	root := os.Geteuid() == 0
	for _, s := range []struct {
		name, refuses string
		root          bool // also for root
	}{
		{"kernel.unprivileged_userns_clone", "0", false},
		{"user.max_user_namespaces", "0", true},
		{"kernel.apparmor_restrict_unprivileged_userns", "1", false},
	} {
		b, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(s.name, ".", "/"))
		if err == nil &&
			(!root || s.root) &&
			strings.TrimSpace(string(b)) == s.refuses {
			return s.name + "=" + s.refuses
		}
	}
	if _, err := os.Stat("/proc/self/ns/user"); err != nil {
		return "the kernel has no user namespaces"
	}
	// The kernel refuses this call of a process with several threads with EINVAL, before
	// it changes anything. A filter of a container refuses it with EPERM.
	err := unix.Unshare(unix.CLONE_NEWUSER)
	if err == unix.EPERM || err == unix.ENOSYS {
		return "a seccomp filter of this container refuses them"
	}
	// mount_setattr is as old as Landlock almost: Linux 5.12.
	err = unix.MountSetattr(-1, "", 0, &unix.MountAttr{})
	if err == unix.ENOSYS {
		return "the kernel is older than 5.12"
	}
	return ""
}

// missingProc returns why /proc of a new namespace cannot be mounted, or "". Containers
// mask parts of /proc; the kernel then refuses a new one, which would show them.
func missingProc() string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "there is no /proc"
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 4 &&
			strings.HasPrefix(fields[4], "/proc/") &&
			fields[4] != "/proc/sys/fs/binfmt_misc" {
			return "parts of /proc are masked (" + fields[4] + "), as in containers"
		}
	}
	return ""
}
