package store

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// remote returns the name of the network file system that a directory is on, or "".
func remote(dir string) (string, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return "", err
	}
	if uint32(fs.Type) != fuseMagic {
		return remoteName(uint32(fs.Type)), nil
	}
	// The number does not state what a file system in user space is; its mount does.
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	mounts, err := os.Open("/proc/self/mounts")
	if err != nil {
		return "", nil // without /proc nothing is known
	}
	defer mounts.Close()
	return remoteFuse(mountOf(real, bufio.NewScanner(mounts))), nil
}

// fuseMagic is the number of file systems in user space (FUSE) in statfs(2).
const fuseMagic = 0x65735546

// mountOf returns the type of the mount that a path is on, by the lines of
// /proc/self/mounts. Of two mounts on one directory, it is the later one.
func mountOf(path string, lines *bufio.Scanner) (kind string) {
	best := -1
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 3 {
			continue
		}
		at := unescaped.Replace(f[1])
		within := at == "/" || path == at || strings.HasPrefix(path, at+"/")
		if within && len(at) >= best {
			best = len(at)
			kind = f[2]
		}
	}
	return kind
}

// unescaped replaces the escapes of /proc/self/mounts.
var unescaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// remoteFuse returns the type of a mount in user space if it is a network file system.
// Types without a name of their own, such as fuse, and types of local disks are "".
func remoteFuse(kind string) string {
	switch strings.TrimPrefix(kind, "fuse.") {
	case "sshfs", "s3fs", "rclone", "gcsfuse", "goofys", "mount-s3", "blobfuse", "blobfuse2", "davfs", "davfs2", "curlftpfs",
		"glusterfs", "ceph", "ceph-fuse", "cephfs", "moosefs", "mfs", "lizardfs", "juicefs", "seaweedfs", "afp", "smbnetfs", "gvfsd-fuse", "kio-fuse", "nfs", "dropbox", "onedriver", "google-drive-ocamlfuse":
		return kind
	}
	return ""
}

// remoteName returns the name of a network file system by its magic number in
// statfs(2), or "" for any other file system.
func remoteName(magic uint32) string {
	switch magic {
	case 0x6969:
		return "nfs"
	case 0x517b, 0xfe534d42, 0xff534d42:
		return "smb"
	case 0x01021997:
		return "9p"
	case 0x5346414f:
		return "afs"
	case 0x00c36400:
		return "ceph"
	case 0x73757245:
		return "coda"
	case 0x0bd00bd0:
		return "lustre"
	case 0x7461636f:
		return "ocfs2"
	case 0x01161970:
		return "gfs2"
	}
	return ""
}
