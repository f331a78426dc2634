package store

import "syscall"

// mountLocal is MNT_LOCAL of mount(2).
const mountLocal = 0x1000

// remote returns the name of the network file system that a directory is on, or "".
func remote(dir string) (string, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Flags&mountLocal != 0 {
		return "", err
	}
	var name []byte
	for _, c := range fs.Fstypename {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	return string(name), nil
}
