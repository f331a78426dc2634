//go:build linux

package sandbox

import (
	"runtime"

	"github.com/ryeos/rye/policy"
)

// escapeRow is one attack. Its arguments contain placeholders of escapeSite.
type escapeRow struct {
	name string
	args string // the subcommand of testdata/escape and its arguments
	net  string // network mode of the profile; "" means none

	// What each rung answers: the layer that refuses and the errors by which it
	// does, for example "seccomp EPERM". "reached" and a reason after it is an
	// attack that the rung does not stop; "" means that the rung refuses the
	// profile.
	strict, landlock string
}

const (
	absent    = "mountns ENOENT"
	readOnly  = "mountns EROFS"
	noAccess  = "landlock EACCES"
	filtered  = "seccomp EPERM"
	noProcess = "pidns ESRCH"
)

// escapeRows is the table of the escape programs.
func escapeRows() []escapeRow {
	var rows []escapeRow
	for _, list := range [][]escapeRow{secretRows(), setIDRows(), protectedRows(), networkRows(), kernelRows(), processRows()} {
		rows = append(rows, list...)
	}
	return rows
}

func secretRows() []escapeRow {
	return []escapeRow{
		{name: "readkeys", args: "read {keys}/a.pem", strict: absent, landlock: noAccess},
		{name: "readssh", args: "read {home}/.ssh/id_ed25519", strict: absent, landlock: noAccess},
		{name: "readoutside", args: "read {out}/secret", strict: absent, landlock: noAccess},
		{name: "listoutside", args: "list {out}", strict: absent, landlock: noAccess},
		{name: "readshadow", args: "read /etc/shadow", strict: "mountns ENOENT EACCES empty", landlock: noAccess},
		{name: "dotdot", args: "dotdot {out}/secret", strict: absent, landlock: noAccess},
		{name: "procroot", args: "procroot {out}/secret", strict: "pidns ENOENT EACCES", landlock: "landlock EACCES EPERM"},
		{name: "symlinkout", args: "symlinkout {out}/secret", strict: absent, landlock: noAccess},
		{name: "hardlinkout", args: "hardlinkout {out}/secret", strict: absent, landlock: "landlock EACCES EXDEV"},
		{name: "byhandle", args: "byhandle", strict: filtered, landlock: filtered},
		{name: "fifo", args: "fifo {out}/fifo", strict: absent, landlock: noAccess},
		{name: "mknod", args: "mknod", strict: "userns EPERM EACCES", landlock: "privileges EPERM EACCES"},
		{name: "device-kmsg", args: "device /dev/kmsg", strict: absent, landlock: noAccess},
		{name: "device-mem", args: "device /dev/mem", strict: absent, landlock: "landlock EACCES ENOENT"},
		{name: "corepattern", args: "openw /proc/sys/kernel/core_pattern", strict: "mountns EROFS EACCES", landlock: noAccess},
		{name: "sysrq", args: "openw /proc/sysrq-trigger", strict: "mountns EROFS EACCES ENOENT", landlock: "landlock EACCES ENOENT"},
		{name: "kcore", args: "openw /proc/kcore", strict: "mountns EROFS EACCES EPERM ENOENT", landlock: "landlock EACCES ENOENT"},
		{name: "sysfs", args: "openw /sys/power/state", strict: "mountns ENOENT EROFS EACCES", landlock: "landlock EACCES ENOENT"},
		{name: "procselfroot", args: "read /proc/self/root{out}/secret", strict: absent, landlock: noAccess},
		{name: "procselfcwd", args: "read /proc/self/cwd/../../out/secret", strict: absent, landlock: noAccess},
		{name: "device-tty", args: "device /dev/tty", strict: absent, landlock: noAccess},
		{name: "device-ptmx", args: "device /dev/ptmx", strict: absent, landlock: noAccess},
		{name: "cgroup-new", args: "mkdirall /sys/fs/cgroup/rye-escape/x", strict: "mountns ENOENT EROFS", landlock: "landlock EACCES EPERM ENOENT"},
		{name: "cgroup-leave", args: "openw /sys/fs/cgroup/cgroup.procs", strict: "mountns ENOENT EROFS EACCES", landlock: "landlock EACCES ENOENT"},
		{name: "chmodoutside", args: "chmod {out}/secret", strict: absent, landlock: "helper EPERM"},
		{name: "chmodkeys", args: "chmod {keys}/a.pem", strict: absent, landlock: "helper EPERM"},
		{name: "createoutside", args: "create {out}/planted", strict: absent, landlock: noAccess},
		{name: "createetc", args: "create /etc/rye-escape", strict: "mountns EROFS EACCES", landlock: noAccess},
		{name: "createusr", args: "create /usr/local/bin/rye-escape", strict: "mountns EROFS EACCES", landlock: noAccess},
		{name: "trustdoc", args: "create {trust}/planted.toml", strict: absent, landlock: noAccess},
		{name: "moveout", args: "move {project}/plain.txt {out}/plain.txt", strict: "mountns ENOENT EXDEV", landlock: "landlock EACCES EXDEV"},
	}
}

// setIDRows make programs that another user of the machine would run as this user.
func setIDRows() []escapeRow {
	var rows []escapeRow
	calls := []string{"openat", "tmpfile", "mknodat", "fchmod", "fchmodat", "fchmodat2"}
	if runtime.GOARCH == "amd64" {
		calls = append(calls, "chmod", "open", "creat", "mknod")
	}
	for _, call := range calls {
		for _, mode := range []string{"4755", "2755"} {
			rows = append(rows, escapeRow{name: "setid-" + call + "-" + mode, args: "setid " + call + " " + mode, strict: filtered, landlock: filtered})
		}
	}
	return append(rows, escapeRow{name: "setid-openat2", args: "setid openat2 4755", strict: "seccomp ENOSYS", landlock: "seccomp ENOSYS"})
}

// protectedRows write each protected path in several ways.
func protectedRows() []escapeRow {
	var rows []escapeRow
	for _, file := range []string{
		".git/config", ".git/hooks/pre-commit", ".git/info/attributes", ".git/worktrees/w/gitdir", ".git/modules/m/config", "sub/.git/hooks/pre-commit",
		".ai/config/agent/mcp.yaml", ".ai/trust/a.toml", ".ai/trusted_keys/a.toml", ".ai/bundles/b/manifest.yaml", ".ai/cache/results/r.txt",
		"rye.lock", "rye.sum", "rye.yaml", ".envrc", ".mcp.json", ".vscode/tasks.json", ".idea/workspace.xml", ".husky/pre-commit", "lefthook.yml", ".pre-commit-config.yaml", ".claude/settings.json",
		".hooks/pre-push", "shared.gitconfig", // the configuration of the repository names them
	} {
		rows = append(rows,
			escapeRow{name: "write " + file, args: "write {project}/" + file, strict: readOnly, landlock: noAccess},
			escapeRow{name: "rename to " + file, args: "renameto {project}/" + file, strict: "mountns EROFS EXDEV EBUSY", landlock: "landlock EACCES EXDEV"})
	}
	return append(rows, []escapeRow{
		{name: "githook-create", args: "create {project}/.git/hooks/planted", strict: readOnly, landlock: noAccess},
		{name: "githook-truncate", args: "truncate {project}/.git/hooks/pre-commit", strict: readOnly, landlock: noAccess},
		{name: "githook-remove", args: "remove {project}/.git/hooks/pre-commit", strict: readOnly, landlock: noAccess},
		{name: "githook-link", args: "linkto {project}/.git/hooks/linked", strict: "mountns EROFS EXDEV", landlock: "landlock EACCES EXDEV"},
		{name: "githook-symlink", args: "symlinkto {project}/.git/hooks/linked", strict: readOnly, landlock: noAccess},
		{name: "githook-chmod", args: "chmod {project}/.git/hooks/pre-commit", strict: readOnly, landlock: "helper EPERM"},
		{name: "sub-replace", args: "replace {project}/sub .git/hooks/pre-commit", strict: "mountns EBUSY", landlock: noAccess},
		{name: "githook-xattr", args: "xattr {project}/.git/hooks/pre-commit", strict: readOnly, landlock: "seccomp ENOTSUP"},
		{name: "githook-exchange", args: "exchange {project}/.git/hooks", strict: "mountns EROFS EXDEV EBUSY", landlock: "landlock EACCES EXDEV"},
		{name: "git-exchange", args: "exchange {project}/.git", strict: "mountns EROFS EXDEV EBUSY", landlock: "landlock EACCES EXDEV"},
		{name: "ai-exchange", args: "exchange {project}/.ai", strict: "mountns EROFS EXDEV EBUSY", landlock: "landlock EACCES EXDEV"},
		{name: "git-move", args: "move {project}/.git {project}/gone-git", strict: "mountns EROFS EXDEV EBUSY", landlock: "landlock EACCES EXDEV"},
		{name: "ai-move", args: "move {project}/.ai {project}/gone-ai", strict: "mountns EROFS EXDEV EBUSY", landlock: "landlock EACCES EXDEV"},
		{name: "mvgit", args: "mvgit {project}", strict: "mountns EROFS EXDEV EBUSY", landlock: "landlock EACCES EXDEV"},
		{name: "project-move", args: "move {project} {project}-gone", strict: "mountns EROFS EXDEV EBUSY ENOENT", landlock: "landlock EACCES EXDEV"},
		{name: "procfd", args: "procfd {project}/.git/config", strict: readOnly, landlock: noAccess},
		{name: "bindover", args: "bindover {project}/.git/hooks", strict: filtered, landlock: filtered},
		{name: "aiconfig-create", args: "mkdirall {project}/.ai/config/new/a.yaml", strict: readOnly, landlock: noAccess},
		{name: "ai-create", args: "mkdirall {project}/.ai/keys/a.pem", strict: readOnly, landlock: noAccess},
		{name: "transcript-read", args: "read {project}/.ai/threads/t/transcript.jsonl", strict: "mountns ENOENT EACCES", landlock: noAccess},
		{name: "transcript-write", args: "create {project}/.ai/threads/t/planted", strict: "mountns EROFS ENOENT EACCES", landlock: noAccess},
	}...)
}

func networkRows() []escapeRow {
	const (
		noRoute = "netns ECONNREFUSED ENETUNREACH"
		noRaw   = "userns EPERM"
	)
	return []escapeRow{
		{name: "dialtcp", args: "dialtcp {tcp}", strict: filtered, landlock: filtered},
		{name: "dialudp", args: "dialudp {udp}", strict: filtered, landlock: filtered},
		{name: "dialmptcp", args: "dialmptcp {tcp}", strict: filtered, landlock: filtered},
		{name: "dialsctp", args: "dialsctp", strict: filtered, landlock: filtered},
		{name: "dialunix", args: "dialunix {out}/docker.sock", strict: filtered, landlock: filtered},
		{name: "dialunix-project", args: "dialunix {project}/dev.sock", strict: filtered, landlock: filtered},
		{name: "dialabstract", args: "dialabstract {abstract}", strict: filtered, landlock: filtered},
		{name: "rawsock", args: "rawsock", strict: filtered, landlock: filtered},
		{name: "packetsock", args: "packetsock", strict: filtered, landlock: filtered},
		{name: "vsock", args: "vsock", strict: filtered, landlock: filtered},
		{name: "netlink", args: "netlink", strict: filtered, landlock: filtered},
		{name: "algsock", args: "algsock", strict: filtered, landlock: filtered},
		{name: "socket-highbits", args: "highbits", strict: filtered, landlock: filtered},
		{name: "listen", args: "listen", strict: filtered, landlock: filtered},
		{name: "resolve", args: "resolve {udp}", strict: filtered, landlock: filtered},

		{name: "loopback-dialtcp", net: "loopback", args: "dialtcp {tcp}", strict: noRoute},
		{name: "loopback-dialudp", net: "loopback", args: "dialudp {udp}", strict: noRoute},
		{name: "loopback-dialmptcp", net: "loopback", args: "dialmptcp {tcp}", strict: "netns ECONNREFUSED ENETUNREACH EPROTONOSUPPORT ENOPROTOOPT"},
		{name: "loopback-dialunix", net: "loopback", args: "dialunix {project}/dev.sock", strict: filtered},
		{name: "loopback-dialabstract", net: "loopback", args: "dialabstract {abstract}", strict: filtered},
		{name: "loopback-rawsock", net: "loopback", args: "rawsock", strict: noRaw},
		{name: "loopback-packetsock", net: "loopback", args: "packetsock", strict: filtered},
		{name: "loopback-vsock", net: "loopback", args: "vsock", strict: filtered},
		{name: "loopback-public", net: "loopback", args: "dialtcp 192.0.2.1:443", strict: noRoute},

		{name: "hosts-dialtcp", net: "hosts", args: "dialtcp {tcp}", strict: noRoute},
		{name: "hosts-dialudp", net: "hosts", args: "dialudp {udp}", strict: noRoute},
		{name: "hosts-public", net: "hosts", args: "dialtcp 192.0.2.1:443", strict: noRoute},
		{name: "hosts-resolve", net: "hosts", args: "resolve {udp}", strict: noRoute},
		{name: "hosts-packetsock", net: "hosts", args: "packetsock", strict: filtered},
		{name: "hosts-dialunix", net: "hosts", args: "dialunix {project}/dev.sock", strict: filtered},
		{name: "proxyprivate", net: "hosts", args: "viaproxy 169.254.169.254:80", strict: "proxy 403"},
		{name: "proxyloopback", net: "hosts", args: "viaproxy {tcp}", strict: "proxy 403"},
		{name: "proxyrebind", net: "hosts", args: "viaproxy rebind.test:443", strict: "proxy 403"},
		{name: "proxyother", net: "hosts", args: "viaproxy other.test:443", strict: "proxy 403"},
		{name: "proxyconnect25", net: "hosts", args: "viaproxy listed.test:25", strict: "proxy 403"},
		{name: "proxyhex", net: "hosts", args: "viaproxy 0x7f.1:443", strict: "proxy 400"},

		{name: "any-dialunix", net: "any", args: "dialunix {project}/dev.sock", strict: filtered, landlock: filtered},
		{name: "any-dialabstract", net: "any", args: "dialabstract {abstract}", strict: filtered, landlock: filtered},
		{name: "any-rawsock", net: "any", args: "rawsock", strict: noRaw, landlock: "privileges EPERM"},
		{name: "any-packetsock", net: "any", args: "packetsock", strict: filtered, landlock: filtered},
		{name: "any-vsock", net: "any", args: "vsock", strict: filtered, landlock: filtered},
		{name: "any-algsock", net: "any", args: "algsock", strict: filtered, landlock: filtered},
	}
}

// kernelRows call what no program needs. The filter refuses them in both rungs.
func kernelRows() []escapeRow {
	var rows []escapeRow
	for _, name := range []string{
		"unsharens", "unsharenet", "clonens", "setns", "mount", "umount", "pivotroot", "movemount", "opentree", "fsopen", "bpf", "perf", "iouring", "userfaultfd",
		"keyctl", "addkey", "requestkey", "kexec", "kexecfile", "initmodule", "finitmodule", "quotactl", "swapon", "reboot", "tiocsti", "tiocstihigh", "tioclinux", "x32", "ptraceme",
	} {
		rows = append(rows, escapeRow{name: name, args: name, strict: filtered, landlock: filtered})
	}
	return append(rows, []escapeRow{
		{name: "clonecgroup", args: "clonecgroup", strict: "seccomp ENOSYS", landlock: "seccomp ENOSYS"},
		{name: "opentreeattr", args: "opentreeattr", strict: "seccomp ENOSYS", landlock: "seccomp ENOSYS"},
		{name: "clone3", args: "clone3", strict: "seccomp ENOSYS", landlock: "seccomp ENOSYS"},
		{name: "mountattr", args: "mountattr", strict: "seccomp EPERM", landlock: "seccomp EPERM"},
		{name: "chroot", args: "chroot", strict: "privileges EPERM", landlock: "privileges EPERM"},
		{name: "settime", args: "settime", strict: "privileges EPERM EINVAL", landlock: "privileges EPERM EINVAL"},
		{name: "int80", args: "int80", strict: "seccomp SIGSYS", landlock: "seccomp SIGSYS"},
		{name: "setuid", args: "setuid {suid}", strict: "privileges no", landlock: "privileges no"},
		{name: "capability", args: "capability", strict: "privileges no", landlock: "privileges no"},
		{name: "newprivs", args: "newprivs", strict: "privileges no", landlock: "privileges no"},
	}...)
}

func processRows() []escapeRow {
	rows := []escapeRow{
		{name: "ptrace", args: "ptrace {pid}", strict: filtered, landlock: filtered},
		{name: "vmread", args: "vmread {pid}", strict: filtered, landlock: filtered},
		{name: "pidfdgetfd", args: "pidfdgetfd {pid}", strict: noProcess, landlock: "landlock EPERM"},
		{name: "signal", args: "signal {pid}", strict: noProcess, landlock: "landlock EPERM"},
		{name: "priority", args: "priority {pid}", strict: noProcess, landlock: filtered},
		{name: "limitof-parent", args: "limitof", strict: filtered, landlock: filtered},
		{name: "limitof-outside", args: "limitof {pid}", strict: "seccomp EPERM ESRCH", landlock: filtered},
		{name: "prlimit", args: "prlimit", strict: "privileges EPERM", landlock: "privileges EPERM"},
		{name: "holdfd", args: "holdfd", strict: "descriptors none", landlock: "descriptors none"},
		{name: "environ", args: "environ canary-of-the-caller", strict: "environment not", landlock: "environment not"},
		{name: "shm", args: "shm", strict: "reached: in a namespace of its own", landlock: "reached: until the machine ends"},
	}
	for _, file := range []string{"environ", "mem", "maps", "fd/4", "root"} { // of the helper, in the rung strict
		rows = append(rows, escapeRow{name: "helper-" + file, args: "procfile 1 " + file, strict: "dumpable EACCES EPERM ENOENT", landlock: "landlock EACCES EPERM ENOENT"})
	}
	// The starter of the helpers, of a process that confines programs in both rungs.
	for _, file := range []string{"environ", "mem", "fd/3", "root"} {
		rows = append(rows, escapeRow{name: "starter-" + file, args: "procfile {starter} " + file, strict: absent, landlock: "landlock EACCES EPERM ENOENT"})
	}
	rows = append(rows, escapeRow{name: "starter-signal", args: "signal {starter}", strict: noProcess, landlock: "landlock EPERM"},
		escapeRow{name: "starter-getfd", args: "pidfdgetfd {starter}", strict: noProcess, landlock: "landlock EPERM"},
		escapeRow{name: "starter-ptrace", args: "ptrace {starter}", strict: filtered, landlock: filtered})
	rows = append(rows, escapeRow{name: "helper-getfd", args: "pidfdgetfd 1", strict: filtered, landlock: "landlock EPERM"})
	for _, file := range []string{"environ", "mem", "maps", "fd/1", "root", "cwd", "stack"} {
		rows = append(rows, escapeRow{name: "readenvproc-" + file, args: "procfile {pid} " + file, strict: absent, landlock: "landlock EACCES EPERM"})
	}
	return rows
}

// createdRows make protected paths that did not exist. The program succeeds; after the
// run the path is in quarantine and the run has failed.
func createdRows() []escapeRow {
	return []escapeRow{
		{name: "mkprotected", args: "mkdirall {project}/work/fresh/.git/hooks/pre-commit"},
		{name: "git-commondir", args: "create {project}/.git/commondir"},
		{name: "git-configworktree", args: "create {project}/.git/config.worktree"},
		{name: "git-module", args: "mkdirall {project}/.git/modules/new/hooks/post-checkout"},
		{name: "git-worktree", args: "mkdirall {project}/.git/worktrees/new/gitdir"},
		{name: "git-file", args: "create {project}/work/.git"},
		{name: "ai-nested", args: "mkdirall {project}/work/.ai/config/agent/mcp.yaml"},
		{name: "ai-item-git", args: "mkdirall {project}/.ai/tools/fresh/.git/hooks/pre-commit"},
		{name: "ai-item-env", args: "create {project}/.ai/tools/.envrc"},
		{name: "ai-item-rye", args: "mkdirall {project}/.ai/tools/rye/x.sh"},
		{name: "editor-tasks", args: "mkdirall {project}/work/.vscode/tasks.json"},
		{name: "link-file", args: "renameto {project}/work/.envrc"},
		{name: "link-link", args: "relink {project}/work/.envrc"},
		{name: "envrc-nested", args: "create {project}/shared/.envrc"},
		{name: "sub-replace", args: "replace {project}/shared .envrc"},
		{name: "flood", args: "flood {project}/work {project}/work/fresh/.git/hooks/x"},
		{name: "unlisted", args: "unlisted {project}/work/fresh .git/hooks/x"},
		{name: "barerepo", args: "barerepo {project}/work/bare"},
	}
}

// limitRows exceed each limit.
type limitRow struct {
	name, args, limit string
	limits            policy.Limits
}

func limitRows() []limitRow {
	return []limitRow{
		{"forkbomb", "forkbomb 24", "processes", policy.Limits{Processes: 24}},
		{"memhog", "memhog 96", "memory_mb", policy.Limits{MemoryMB: 96}},
		{"cpuspin", "cpuspin 1", "cpu_seconds", policy.Limits{CPUSeconds: 1}},
		{"bigfile", "bigfile 1", "file_size_mb", policy.Limits{FileSizeMB: 1}},
		{"manyfiles", "manyfiles 64", "open_files", policy.Limits{OpenFiles: 64}},
		{"diskfill", "diskfill 4 {project}/work", "disk_mb", policy.Limits{DiskMB: 4}},
	}
}
