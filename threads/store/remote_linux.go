package store

import "syscall"

// remote returns the name of the network file system that a directory is on, or "".
func remote(dir string) (string, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return "", err
	}
	return remoteName(uint32(fs.Type)), nil
}

// remoteName returns the name of a network file system by its magic number in
// statfs(2), or "" for another one. A file system in user space (FUSE) counts as local:
// the number does not state what is behind it.
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
