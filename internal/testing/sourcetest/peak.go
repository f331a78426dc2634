package sourcetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Peak runs a program and returns the greatest memory, in bytes, that it and its
// descendants had together at one time, 0 where there is no /proc.
func Peak(cmd *exec.Cmd) (int64, error) {
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var peak int64
	for {
		select {
		case err := <-done:
			return peak, err
		case <-tick.C:
			peak = max(peak, residentTree(cmd.Process.Pid))
		}
	}
}

// residentTree returns the memory of a process and its descendants. Pages that several
// of them share, as a parent and its child do between fork and exec, are divided by the
// number of processes.
func residentTree(pid int) (total int64) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	if b, err := os.ReadFile(filepath.Join(dir, "smaps_rollup")); err == nil {
		for line := range strings.Lines(string(b)) {
			if words := strings.Fields(line); len(words) > 1 && words[0] == "Pss:" {
				kib, _ := strconv.ParseInt(words[1], 10, 64)
				total = kib << 10
			}
		}
	}
	lists, _ := filepath.Glob(filepath.Join(dir, "task", "*", "children"))
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(b)) {
			if child, err := strconv.Atoi(word); err == nil {
				total += residentTree(child)
			}
		}
	}
	return total
}
