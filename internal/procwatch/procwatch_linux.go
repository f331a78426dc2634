package procwatch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// system is a watch of Linux: one epoll instance with an inotify instance and a
// descriptor of each process, and a goroutine that waits for it.
type system struct {
	mu     sync.Mutex
	epoll  int
	stop   *os.File // its end stops the goroutine; nil before the first watch
	ended  chan struct{}
	notify int              // inotify, -1 before the first directory
	names  map[int32]string // the file that is waited for, by watch; "" is any
	pids   map[int]int      // descriptors by process
}

// start begins to wait. The caller has the lock.
func (w *Watch) start() error {
	if w.stop != nil {
		return nil
	}
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	read, stop, err := os.Pipe()
	if err != nil {
		return errors.Join(err, syscall.Close(epoll))
	}
	w.epoll = epoll
	w.stop = stop
	w.notify = -1
	w.names = map[int32]string{}
	w.pids = map[int]int{}
	w.ended = make(chan struct{})
	end := int(read.Fd())
	if err := w.add(end); err != nil {
		w.stop = nil
		return errors.Join(err, read.Close(), stop.Close(), syscall.Close(epoll))
	}
	go func() {
		defer close(w.ended)
		defer read.Close()
		w.loop(end)
	}()
	return nil
}

func (w *Watch) add(fd int) error {
	e := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
	err := syscall.EpollCtl(w.epoll, syscall.EPOLL_CTL_ADD, fd, &e)
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	return nil
}

// loop wakes the waiter until the descriptor end is at its end.
func (w *Watch) loop(end int) {
	events := make([]syscall.EpollEvent, 16)
	for {
		n, err := syscall.EpollWait(w.epoll, events, -1)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
		for _, e := range events[:max(n, 0)] {
			if int(e.Fd) == end {
				return
			}
			if w.happened(int(e.Fd)) {
				w.wake()
			}
		}
	}
}

// happened reads what a descriptor reports.
func (w *Watch) happened(fd int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if fd == w.notify {
		buf := make([]byte, 16<<10)
		n, err := syscall.Read(fd, buf)
		return err == nil && w.relevant(buf[:n])
	}
	for pid, of := range w.pids {
		if of == fd { // closed, it leaves the epoll instance
			delete(w.pids, pid)
			_ = syscall.Close(fd)
			return true
		}
	}
	return false
}

// Dir wakes the waiter when a file with a name is renamed into a directory.
func (w *Watch) Dir(dir, name string) error {
	return w.inotify(
		dir,
		name,
		syscall.IN_MOVED_TO|syscall.IN_ONLYDIR,
	)
}

// Changes wakes the waiter when a file appears in a directory.
func (w *Watch) Changes(dir string) error {
	// A file that must not exist before is made by a link, others by a rename.
	const appears = syscall.IN_MOVED_TO | syscall.IN_CREATE
	return w.inotify(
		dir,
		"",
		appears|syscall.IN_ONLYDIR,
	)
}

// Closed wakes the waiter when a process closes a file, also by its end.
func (w *Watch) Closed(file string) error {
	return w.inotify(
		file,
		"",
		syscall.IN_CLOSE,
	)
}

// Written wakes the waiter when a process writes to a file.
func (w *Watch) Written(file string) error {
	return w.inotify(
		file,
		"",
		syscall.IN_MODIFY,
	)
}

func (w *Watch) inotify(path, name string, events uint32) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.start(); err != nil {
		return err
	}
	if w.notify < 0 {
		fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
		if err == nil {
			if err = w.add(fd); err != nil {
				_ = syscall.Close(fd)
			}
		}
		if err != nil {
			return fmt.Errorf("watching directories: %w", err)
		}
		w.notify = fd
	}
	id, err := syscall.InotifyAddWatch(w.notify, path, events)
	if err != nil {
		return fmt.Errorf("watching %s: %w", path, err)
	}
	w.names[int32(id)] = name
	return nil
}

// relevant reports whether one of some events is about a file that is waited for, or
// states that events were lost.
func (w *Watch) relevant(events []byte) bool {
	for len(events) >= syscall.SizeofInotifyEvent {
		id := int32(binary.NativeEndian.Uint32(events))
		mask := binary.NativeEndian.Uint32(events[4:])
		length := int(binary.NativeEndian.Uint32(events[12:]))
		name := events[syscall.SizeofInotifyEvent:]
		if length > len(name) || mask&(syscall.IN_Q_OVERFLOW|syscall.IN_IGNORED) != 0 {
			return true
		}
		want := w.names[id]
		got := bytes.TrimRight(name[:length], "\x00")
		if want == "" || string(got) == want {
			return true
		}
		events = name[length:]
	}
	return false
}

// sysPidfdOpen is the system call that opens a process, on all architectures.
const sysPidfdOpen = 434

// Process wakes the waiter when a process ends. The caller checks afterwards that the
// number still belongs to the process that it means. A process that has ended is
// os.ErrProcessDone.
func (w *Watch) Process(pid int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.start(); err != nil {
		return err
	}
	if _, watched := w.pids[pid]; watched {
		return nil
	}
	fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(pid), 0, 0) // close-on-exec by itself
	switch {
	case errno == syscall.ESRCH:
		return os.ErrProcessDone
	case errno != 0:
		return fmt.Errorf("watching process %d: %w", pid, errno)
	}
	if err := w.add(int(fd)); err != nil {
		return errors.Join(err, syscall.Close(int(fd)))
	}
	w.pids[pid] = int(fd)
	return nil
}

// Close ends the watch.
func (w *Watch) Close() error {
	w.mu.Lock()
	if w.stop == nil {
		w.mu.Unlock()
		return nil
	}
	err := w.stop.Close()
	w.mu.Unlock()
	<-w.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop = nil
	for _, fd := range w.pids {
		err = errors.Join(err, syscall.Close(fd))
	}
	if w.notify >= 0 {
		err = errors.Join(err, syscall.Close(w.notify))
	}
	return errors.Join(err, syscall.Close(w.epoll))
}
