package proc

import "syscall"

// dieWithUs makes the kernel signal the program when this process ends, also by
// SIGKILL. The kernel watches the thread that started the program. Go ends a thread
// only with a goroutine that is locked to it, so no goroutine of rye may return
// while it is locked (runtime.LockOSThread).
func dieWithUs(attr *syscall.SysProcAttr, orderly bool) {
	attr.Pdeathsig = syscall.SIGKILL
	if orderly {
		attr.Pdeathsig = syscall.SIGTERM
	}
}
