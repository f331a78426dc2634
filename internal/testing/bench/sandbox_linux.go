package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// landlocked measures the rung landlock, in a user namespace that permits no further one.
func (b *bench) landlocked(dir, shell, file string) error {
	cmd := exec.Command(
		b.self,
		"landlock",
		b.rye,
		b.work,
		dir,
		shell,
		file,
		strconv.Itoa(b.spawns),
	)
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	if err := cmd.Start(); err != nil {
		fmt.Println("| landlock | left out, this machine has no user namespaces | | |")
		return nil
	}
	return cmd.Wait()
}

func refuseNamespaces() error {
	return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
}
