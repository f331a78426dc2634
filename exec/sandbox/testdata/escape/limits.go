//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// limitAttempts use more than the first argument permits.
func limitAttempts() map[string]attempt {
	return map[string]attempt{
		"forkbomb":  forkBomb,
		"memhog":    memHog,
		"memfdhog":  memfdHog,
		"cpuspin":   cpuSpin,
		"bigfile":   bigFile,
		"manyfiles": manyFiles,
		"diskfill":  diskFill,
		"coredump":  func([]string) error { return limitIs(unix.RLIMIT_CORE) },
		"shm":       shm,
	}
}

func number(a []string) int {
	n, _ := strconv.Atoi(a[0])
	return n
}

// forkBomb starts more processes than permitted, which end with it.
func forkBomb(a []string) error {
	var all []*exec.Cmd
	defer func() {
		for _, c := range all {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}()
	for range 4 * number(a) {
		c := exec.Command("/proc/self/exe", "heartbeat", "/dev/null")
		if err := c.Start(); err != nil {
			return err
		}
		all = append(all, c)
	}
	time.Sleep(3 * time.Second)
	return nil
}

// memHog uses twice the permitted memory, in MiB.
func memHog(a []string) error {
	for range 2 * number(a) {
		mem, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return err
		}
		for i := 0; i < len(mem); i += 4096 {
			mem[i] = 1
		}
	}
	return nil
}

// memfdHog fills twice the permitted memory without a mapping, which only a cgroup counts.
func memfdHog(a []string) error {
	block := make([]byte, 1<<20)
	for range 2 * number(a) {
		fd, err := unix.MemfdCreate("hog", 0)
		if err != nil {
			return err
		}
		if _, err := unix.Write(fd, block); err != nil {
			return err
		}
	}
	return nil
}

// cpuSpin uses the processor for twice the permitted seconds.
func cpuSpin(a []string) error {
	end := time.Now().Add(time.Duration(2*number(a)) * time.Second * 9) // a busy machine gives a ninth of a processor
	for time.Now().Before(end) {
		var use syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use)
		if use.Utime.Sec+use.Stime.Sec >= int64(2*number(a)) {
			return nil
		}
	}
	return errors.New("the processor was not available")
}

// bigFile writes a file that is larger than permitted, in MiB.
func bigFile(a []string) error {
	f, err := os.Create("escape-big")
	if err != nil {
		return err
	}
	defer os.Remove("escape-big")
	defer f.Close()
	_, err = f.WriteAt([]byte("x"), int64(number(a)+1)<<20)
	return err
}

func manyFiles(a []string) error {
	for range number(a) + 1 {
		if _, err := unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
			return err
		}
	}
	return nil
}

// diskFill writes four times the permitted MiB in files of 1 MiB, slowly enough for
// a sampler.
func diskFill(a []string) error {
	block := make([]byte, 1<<20)
	dir := a[1]
	for i := range 4 * number(a) {
		if err := os.WriteFile(dir+"/escape-fill-"+strconv.Itoa(i), block, 0o644); err != nil {
			return err
		}
		time.Sleep(time.Second / 16)
	}
	return nil
}

func limitIs(resource int) error {
	var lim unix.Rlimit
	if err := unix.Getrlimit(resource, &lim); err != nil {
		return err
	}
	if lim.Max == 0 {
		return errors.New("limit 0")
	}
	return nil
}

// shm makes a segment of shared memory that outlives the process.
func shm(a []string) error {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		return err
	}
	_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	return err
}
