package openat

import "golang.org/x/sys/unix"

// opener returns openat2 if the kernel has it. Before 5.6 the call is ENOSYS, and
// some container filters return EPERM.
func opener(root int) func(dirfd int, rel string, flags int) (int, error) {
	fd, err := openBeneath(root, ".", openFolder)
	if err != nil {
		return openByElement
	}
	unix.Close(fd)
	return openBeneath
}

func openBeneath(dirfd int, rel string, flags int) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	return retry(func() (int, error) {
		return unix.Openat2(dirfd, rel, &how)
	})
}
