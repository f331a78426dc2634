//go:build linux

package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// The arguments are paths. Those that write take the path to write.
func fileAttempts() map[string]attempt {
	return map[string]attempt{
		"read":      readFile,
		"list":      func(a []string) error { _, err := os.ReadDir(a[0]); return err },
		"stat":      func(a []string) error { return statEach(a) },
		"write":     func(a []string) error { return openAt(a[0], os.O_WRONLY|os.O_APPEND) },
		"create":    func(a []string) error { return os.WriteFile(a[0], []byte("escaped\n"), 0o755) },
		"truncate":  func(a []string) error { return os.Truncate(a[0], 0) },
		"remove":    func(a []string) error { return os.Remove(a[0]) },
		"chmod":     func(a []string) error { return os.Chmod(a[0], 0o777) },
		"xattr":     func(a []string) error { return unix.Setxattr(a[0], "user.escape", []byte("1"), 0) },
		"mkdirall":  func(a []string) error { return mkdirAndWrite(a[0]) },
		"renameto":  func(a []string) error { return renameOver(a[0]) },
		"linkto":    func(a []string) error { return linkOver(a[0]) },
		"symlinkto": func(a []string) error { return os.Symlink("/bin/true", a[0]) },
		"exchange":  exchange,
		"move":      func(a []string) error { return os.Rename(a[0], a[1]) },
		"mvgit":     replaceGit,
		"procfd":    throughProcFD,
		"replace":   replaceParent,
		"swapdirs":  exchangeForever,
		"repos":     makeRepositories,
		"barerepo":  bareRepository,
		"flood":     flood,
		"relink":    relink,
		"unlisted":  unlisted,
		"procroot":  func(a []string) error { _, err := os.ReadFile("/proc/1/root" + a[0]); return err },
		"dotdot":    func(a []string) error { return upwards(a[0]) },
		"symlinkout": func(a []string) error {
			return linkAndRead(a[0], os.Symlink)
		},
		"hardlinkout": func(a []string) error {
			return linkAndRead(a[0], os.Link)
		},
		"byhandle": openByHandle,
		"fifo":     func(a []string) error { return openAt(a[0], os.O_WRONLY|unix.O_NONBLOCK) },
		"mknod":    makeDevice,
		"setid":    setID,
		"device":   func(a []string) error { return openAt(a[0], os.O_RDWR) },
		"openw":    func(a []string) error { return openAt(a[0], os.O_WRONLY) },
		"bindover": bindOver,
	}
}

func openAt(path string, flag int) error {
	f, err := os.OpenFile(path, flag|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if flag&os.O_APPEND != 0 {
		_, err = f.WriteString("escaped\n")
	}
	return errors.Join(err, f.Close())
}

// readFile succeeds only with content: a mask may be an empty file.
func readFile(a []string) error {
	b, err := os.ReadFile(a[0])
	if err == nil && len(b) == 0 {
		return errors.New("empty")
	}
	return err
}

func statEach(paths []string) error {
	var errs []error
	for _, p := range paths {
		_, err := os.Lstat(p)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func mkdirAndWrite(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte("escaped\n"), 0o755)
}

// newName returns the name of a file that does not exist, in the working directory.
// Process numbers repeat between namespaces.
func newName() string { return "escape-" + strconv.FormatUint(rand.Uint64(), 36) }

// ownFile returns a new file in the working directory, which the program may write.
func ownFile() (string, error) {
	f, err := os.CreateTemp(".", "escape-")
	if err != nil {
		return "", errors.New("no file in the working directory: " + err.Error())
	}
	f.WriteString("escaped\n")
	return f.Name(), f.Close()
}

func renameOver(path string) error {
	tmp, err := ownFile()
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	return os.Rename(tmp, path)
}

func linkOver(path string) error {
	tmp, err := ownFile()
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	return os.Link(tmp, path)
}

// exchange swaps a directory of the program with a protected path.
func exchange(a []string) error {
	own, err := os.MkdirTemp(".", "escape-own-")
	if err != nil {
		return errors.New("no directory in the working directory: " + err.Error())
	}
	defer os.Remove(own)
	return unix.Renameat2(unix.AT_FDCWD, own, unix.AT_FDCWD, a[0], unix.RENAME_EXCHANGE)
}

// replaceGit moves the repository's directory away and makes another one.
func replaceGit(a []string) error {
	git := filepath.Join(a[0], ".git")
	if err := os.Rename(git, git+"-moved"); err != nil {
		return err
	}
	return mkdirAndWrite(filepath.Join(git, "hooks", "pre-commit"))
}

// throughProcFD opens a file for reading and opens the descriptor for writing.
func throughProcFD(a []string) error {
	f, err := os.Open(a[0])
	if err != nil {
		return err
	}
	defer f.Close()
	return openAt("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), os.O_WRONLY|os.O_APPEND)
}

// upwards leaves the working directory by "..".
func upwards(path string) error {
	up := "."
	for range 32 {
		up += "/.."
	}
	return readFile([]string{up + path})
}

func linkAndRead(path string, link func(string, string) error) error {
	name := newName()
	if err := link(path, name); err != nil {
		return err
	}
	defer os.Remove(name)
	return readFile([]string{name})
}

// openByHandle opens a file by its number in the file system, without a path.
func openByHandle(a []string) error {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, ".", 0)
	if err != nil {
		h = unix.NewFileHandle(1, []byte{2, 0, 0, 0, 0, 0, 0, 0})
	}
	root, err := os.Open(".")
	if err != nil {
		return err
	}
	defer root.Close()
	fd, err := unix.OpenByHandleAt(int(root.Fd()), h, unix.O_RDONLY)
	if err == nil {
		unix.Close(fd)
	}
	return permitted(err, syscall.ESTALE, syscall.EINVAL)
}

// makeDevice makes a node of the null device, which the test may keep.
func makeDevice(a []string) error {
	name := newName()
	if err := unix.Mknod(name, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err != nil {
		return err
	}
	defer os.Remove(name)
	return openAt(name, os.O_RDWR)
}

// setID makes a program that runs as its owner or its group, by one system call.
func setID(a []string) error {
	mode, err := strconv.ParseUint(a[1], 8, 32)
	if err != nil {
		return err
	}
	name := newName()
	defer os.Remove(name)
	if err := setIDBy(a[0], name, uint32(mode)); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		return err
	}
	if st.Mode&(unix.S_ISUID|unix.S_ISGID) == 0 {
		return errors.New("the file has the mode " + strconv.FormatUint(uint64(st.Mode), 8))
	}
	return nil
}

// setIDBy gives a new file a mode by the system call of a name.
func setIDBy(call, name string, mode uint32) error {
	const flags = unix.O_CREAT | unix.O_WRONLY | unix.O_CLOEXEC
	done := func(fd int, err error) error {
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}
	switch call {
	case "openat":
		return done(unix.Openat(unix.AT_FDCWD, name, flags, mode))
	case "openat2":
		return done(unix.Openat2(unix.AT_FDCWD, name, &unix.OpenHow{Flags: flags, Mode: uint64(mode)}))
	case "tmpfile": // a file without a name gets one afterwards
		fd, err := unix.Openat(unix.AT_FDCWD, ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, mode)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	case "mknodat":
		return unix.Mknodat(unix.AT_FDCWD, name, unix.S_IFREG|mode, 0)
	}
	if call == "open" || call == "creat" || call == "mknod" {
		return setIDOfArch(call, name, mode)
	}
	if err := os.WriteFile(name, nil, 0o700); err != nil {
		return err
	}
	switch call {
	case "fchmod":
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Fchmod(fd, mode)
	case "fchmodat":
		return unix.Fchmodat(unix.AT_FDCWD, name, mode, 0)
	case "fchmodat2":
		return unix.Fchmodat(unix.AT_FDCWD, name, mode, unix.AT_SYMLINK_NOFOLLOW)
	}
	return setIDOfArch(call, name, mode)
}

func bindOver(a []string) error {
	own, err := os.MkdirTemp(".", "escape-bind-")
	if err != nil {
		return errors.New("no directory in the working directory: " + err.Error())
	}
	defer os.Remove(own)
	return unix.Mount(own, a[0], "", unix.MS_BIND, "")
}

// replaceParent moves a directory that contains a protected path away, and makes the
// path again.
func replaceParent(a []string) error {
	dir := a[0]
	path := a[1]
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		return err
	}
	return mkdirAndWrite(filepath.Join(dir, path))
}

// bareRepository makes a directory that git takes for a repository.
func bareRepository(a []string) error {
	for _, dir := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(a[0], dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(a[0], "config"), []byte("[core]\n\tfsmonitor = /bin/false\n"), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(a[0], "HEAD"), []byte("ref: refs/heads/main\n"), 0o644)
}

// flood makes more names in a directory than a search examines, and then the path.
func flood(a []string) error {
	first := filepath.Join(a[0], "escape-0")
	if err := os.WriteFile(first, nil, 0o600); err != nil {
		return err
	}
	for i := range 20_100 { // names of one file are made faster than files
		if err := os.Link(first, filepath.Join(a[0], "escape-"+strconv.Itoa(i+1))); err != nil {
			return err
		}
	}
	return mkdirAndWrite(a[1])
}

// unlisted makes a path in a directory that can be searched and not read.
func unlisted(a []string) error {
	if err := mkdirAndWrite(filepath.Join(a[0], a[1])); err != nil {
		return err
	}
	return os.Chmod(a[0], 0o111)
}

// relink replaces a file or link by another link.
func relink(a []string) error {
	if err := os.Remove(a[0]); err != nil {
		return err
	}
	return os.Symlink("escape-target", a[0])
}

// exchangeForever exchanges pairs of directories until a file exists. The program has reached
// something if an exchange succeeded.
func exchangeForever(a []string) error {
	done := 0
	last := error(nil)
	for {
		if _, err := os.Lstat(a[0]); err == nil {
			break
		}
		for i := 1; i+1 < len(a); i += 2 {
			if err := unix.Renameat2(unix.AT_FDCWD, a[i], unix.AT_FDCWD, a[i+1], unix.RENAME_EXCHANGE); err == nil {
				done++
			} else {
				last = err
			}
		}
	}
	if done > 0 {
		return nil
	}
	return last
}

// makeRepositories makes directories with a repository in a[0], x1 and further, and next to
// each one a link to a[1].
func makeRepositories(a []string) error {
	for i := range 40 {
		n := strconv.Itoa(i)
		_ = os.RemoveAll(filepath.Join(a[0], "x"+n))
		_ = os.RemoveAll(filepath.Join(a[0], "y"+n))
		git := filepath.Join(a[0], "x"+n, ".git")
		for _, dir := range []string{"objects", "refs"} {
			if err := os.MkdirAll(filepath.Join(git, dir), 0o755); err != nil {
				continue // another run is taking it away
			}
		}
		_ = os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/m\n"), 0o644)
		_ = os.WriteFile(filepath.Join(git, "config"), []byte("evil\n"), 0o644)
		_ = os.Symlink(a[1], filepath.Join(a[0], "y"+n))
	}
	return nil
}
