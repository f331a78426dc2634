package store

import (
	"bufio"
	"strings"
	"testing"
)

// TestRemote knows the file systems of networks by their numbers, and no other.
func TestRemote(t *testing.T) {
	for magic, want := range map[uint32]string{0x6969: "nfs", 0xff534d42: "smb", 0xfe534d42: "smb", 0xef53: "", 0x9123683e: "", 0x01021994: "", 0x794c7630: ""} {
		if got := remoteName(magic); got != want {
			t.Errorf("%#x is %q, want %q", magic, got, want)
		}
	}
	if name, err := remote(t.TempDir()); err != nil || name != "" {
		t.Errorf("the directory of the test: %q %v", name, err)
	}
	if _, err := remote("/missing/dir"); err == nil {
		t.Error("a missing directory has a file system")
	}
}

// A file system in user space is local or remote by the type of its mount: the innermost
// one that contains the path, and the later one of two on one directory.
func TestRemoteFuse(t *testing.T) {
	const mounts = `/dev/sda1 / ext4 rw 0 0
host:/srv /home/leo/far fuse.sshfs rw 0 0
/dev/sdb1 /home/leo/far/near fuseblk rw 0 0
bucket /mnt/a\040b fuse.s3fs rw 0 0
/dev/sdc1 /mnt/twice ext4 rw 0 0
remote: /mnt/twice fuse.rclone rw 0 0
overlay /mnt/over fuse.fuse-overlayfs rw 0 0
broken
`
	for path, want := range map[string]string{
		"/home/leo": "", "/home/leo/far": "fuse.sshfs", "/home/leo/far/state/rye": "fuse.sshfs", "/home/leo/farther": "",
		"/home/leo/far/near/x": "", "/mnt/a b/x": "fuse.s3fs", "/mnt/twice/x": "fuse.rclone", "/mnt/over/x": "",
	} {
		if got := remoteFuse(mountOf(path, bufio.NewScanner(strings.NewReader(mounts)))); got != want {
			t.Errorf("%s is on %q, want %q", path, got, want)
		}
	}
}
