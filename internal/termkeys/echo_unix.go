//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package termkeys

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// HideTyped stops the echo of typed keys at a terminal until show is called, because they would
// be in the middle of lines that are drawn again. Lines and the keys that send signals work as
// before. It does nothing for a process in the background, which may not change the terminal.
func HideTyped(f *os.File) (show func()) {
	fd := int(f.Fd())
	if !setEcho(fd, false) {
		return func() {}
	}
	stop := afterStop(func() { setEcho(fd, false) })
	return sync.OnceFunc(func() {
		stop()
		setEcho(fd, true)
	})
}

// afterStop calls set when the process continues after it was stopped: a shell has restored its
// own modes of the terminal meanwhile.
func afterStop(set func()) (stop func()) {
	cont := make(chan os.Signal, 1)
	signal.Notify(cont, syscall.SIGCONT)
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-cont:
				set()
			}
		}
	})
	return func() {
		signal.Stop(cont)
		close(done)
		wait.Wait()
	}
}

// setEcho changes the echo of a terminal, and reports whether it did.
func setEcho(fd int, on bool) bool {
	foreground, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || foreground != unix.Getpgrp() {
		return false
	}
	modes, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil || (modes.Lflag&unix.ECHO != 0) == on {
		return false
	}
	if on {
		modes.Lflag |= unix.ECHO
	} else {
		modes.Lflag &^= unix.ECHO
	}
	return unix.IoctlSetTermios(fd, setTermios, modes) == nil
}
