package store

import (
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"
)

// driveRemote is DRIVE_REMOTE of GetDriveType.
const driveRemote = 4

// remote returns the name of the network file system that a directory is on, or "".
func remote(dir string) (string, error) {
	volume := filepath.VolumeName(dir)
	if strings.HasPrefix(volume, `\\`) && !strings.HasPrefix(volume, `\\?\`) {
		return "share", nil
	}
	root, err := syscall.UTF16PtrFromString(volume + `\`)
	if err != nil {
		return "", err
	}
	kind, _, _ := syscall.NewLazyDLL("kernel32.dll").NewProc("GetDriveTypeW").Call(uintptr(unsafe.Pointer(root)))
	if kind == driveRemote {
		return "network drive", nil
	}
	return "", nil
}
