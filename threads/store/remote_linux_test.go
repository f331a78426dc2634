package store

import "testing"

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
