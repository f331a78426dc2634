package confine

import (
	"syscall"
	"unsafe"
)

// restrict applies a Landlock ruleset to the calling thread.
func restrict(r *Ruleset) error {
	if r == nil {
		return nil
	}
	attr := [3]uint64{r.FS, r.Net, r.Scoped}
	size := uintptr(8) // the kernel refuses an attribute that is longer than it knows
	switch {
	case r.ABI >= 6:
		size = 24
	case r.ABI >= 4:
		size = 16
	}
	set, _, no := syscall.Syscall(sysLandlockSet, uintptr(unsafe.Pointer(&attr)), size, 0)
	if no != 0 {
		return failed("landlock", "ruleset", no)
	}
	defer syscall.Close(int(set))
	for _, rule := range r.Rules {
		if err := addRule(int(set), rule); err != nil {
			return failed("landlock", rule.Path, err)
		}
	}
	_, _, no = syscall.Syscall(sysLandlockApply, set, 0, 0)
	if no != 0 {
		return failed("landlock", "restricting", no)
	}
	return nil
}

func addRule(set int, rule Rule) error {
	fd, err := openat2(atFDCWD, rule.Path, oPath|syscall.O_CLOEXEC)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	// struct landlock_path_beneath_attr is packed: 12 bytes
	var attr [3]uint32
	*(*uint64)(unsafe.Pointer(&attr[0])) = rule.Access
	attr[2] = uint32(fd)
	_, _, no := syscall.Syscall6(
		sysLandlockRule,
		uintptr(set),
		landlockPathBeneath,
		uintptr(unsafe.Pointer(&attr)),
		0,
		0,
		0,
	)
	return errnoOf(no)
}

// setLimits sets the limits, limits of Child for the moment of the start only: give sets
// these for the program that was started, and sets the helper's earlier ones again. spare is
// the data that the helper may have meanwhile, in bytes.
func setLimits(list []Rlimit, spare uint64) (give func(pid int) error, err error) {
	type kept struct {
		resource int
		old, lim syscall.Rlimit
	}
	var child []kept
	for _, l := range list {
		if l.Own {
			threads, err := threads()
			if err != nil {
				return nil, failed("rlimits", "threads of the helper", err)
			}
			l.Soft += threads
			l.Hard += threads
		}
		var old syscall.Rlimit
		if err := syscall.Getrlimit(l.Resource, &old); err != nil {
			return nil, failed("rlimits", "reading", err)
		}
		// A limit that is lower already stays. The package syscall remembers the limit
		// of open files that it sets.
		lim := syscall.Rlimit{Cur: min(l.Soft, old.Max), Max: min(l.Hard, old.Max)}
		if l.Child {
			child = append(child, kept{l.Resource, old, lim})
			lim.Max = old.Max // a maximum cannot be raised again
			if l.Resource == syscall.RLIMIT_DATA {
				// Another thread of the helper that gets no memory at this moment would end
				// it. The program has this much only until give, right after it was started.
				lim.Cur = min(max(lim.Cur, spare), old.Max)
			}
		}
		if err := syscall.Setrlimit(l.Resource, &lim); err != nil {
			return nil, failed("rlimits", "limit "+decimal(int64(l.Resource)), err)
		}
	}
	return func(pid int) error {
		for _, k := range child {
			err := syscall.Setrlimit(k.resource, &k.old)
			if err != nil {
				return failed("rlimits", "restoring", err)
			}
		}
		// On another thread: the filter of this one refuses limits of other processes.
		given := make(chan error)
		go func() {
			for _, k := range child {
				err := limitOf(pid, k.resource, &k.lim)
				if err != nil && err != syscall.ESRCH {
					given <- failed("rlimits", "limit of the program", err)
					return
				}
			}
			given <- nil
		}()
		return <-given
	}, nil
}

// threads counts the threads of this process.
func threads() (n uint64, err error) {
	fd, err := syscall.Open("/proc/self/task", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fd)
	err = numbered(fd, make([]byte, 4096), func(int64) { n++ })
	return n, err
}

// filter installs the seccomp filter on the calling thread. It returns the descriptor on which
// the helper gets the calls that the filter passes to it, -1 if there are none. A process has
// one such filter: below the filter of some containers the calls are refused.
func filter(instructions []uint64) (listener int, err error) {
	if len(instructions) == 0 {
		return -1, nil
	}
	prog := make([]syscall.SockFilter, len(instructions))
	for i, x := range instructions {
		prog[i] = syscall.SockFilter{
			Code: uint16(x >> 48),
			Jt:   uint8(x >> 40),
			Jf:   uint8(x >> 32),
			K:    uint32(x),
		}
	}
	f := syscall.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if asked(prog) {
		fd, _, no := syscall.Syscall(sysSeccomp, seccompSetFilter, seccompNewListener, uintptr(unsafe.Pointer(&f)))
		if no == 0 {
			return int(fd), nil
		}
		refused(prog)
	}
	_, _, no := syscall.Syscall(sysSeccomp, seccompSetFilter, 0, uintptr(unsafe.Pointer(&f)))
	if no != 0 {
		return -1, failed("seccomp", "filter", no)
	}
	return -1, nil
}
