package proc

import "syscall"

// dieWithUs has the kernel signal the program when we die, also by SIGKILL. What
// it goes by is the thread that started the program: Go ends one only with a
// goroutine that is locked to it, so nothing in rye may return while locked
// (runtime.LockOSThread).
func dieWithUs(attr *syscall.SysProcAttr, orderly bool) {
	attr.Pdeathsig = syscall.SIGKILL
	if orderly {
		attr.Pdeathsig = syscall.SIGTERM
	}
}
