package sourcetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Peak runs a program and returns the greatest memory, in bytes, that it had alone, and that
// it and its descendants had together at one time, 0 where there is no /proc.
func Peak(cmd *exec.Cmd) (alone, together int64, err error) {
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return alone, together, err
		case <-tick.C:
			now := resident(cmd.Process.Pid)
			alone = max(alone, now)
			together = max(together, now+residentBelow(cmd.Process.Pid))
		}
	}
}

// resident returns the memory of a process. Pages that several processes share, as a parent
// and its child do between fork and exec, are divided by their number.
func resident(pid int) int64 {
	for line := range strings.Lines(fileOf(pid, "smaps_rollup")) {
		words := strings.Fields(line)
		if len(words) > 1 && words[0] == "Pss:" {
			kib, _ := strconv.ParseInt(words[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// residentBelow returns the memory of the descendants of a process.
func residentBelow(pid int) (total int64) {
	for _, child := range childrenOf(pid) {
		total += resident(child) + residentBelow(child)
	}
	return total
}

func childrenOf(pid int) (children []int) {
	for _, task := range tasksOf(pid) {
		for _, word := range strings.Fields(fileOf(pid, "task", task, "children")) {
			if child, err := strconv.Atoi(word); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// tasksOf returns the names of the threads of a process.
func tasksOf(pid int) (tasks []string) {
	found, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*"))
	for _, path := range found {
		tasks = append(tasks, filepath.Base(path))
	}
	return tasks
}

// fileOf returns a file about a process, "" if it ended.
func fileOf(pid int, name ...string) string {
	b, _ := os.ReadFile(filepath.Join(append(
		[]string{"/proc", strconv.Itoa(pid)},
		name...,
	)...))
	return string(b)
}

// Children returns the children of a process that have an argument, none where there is no
// /proc.
func Children(pid int, argument string) []int {
	return slices.DeleteFunc(childrenOf(pid), func(child int) bool {
		return !slices.Contains(strings.Split(fileOf(child, "cmdline"), "\x00"), argument)
	})
}
