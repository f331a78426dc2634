package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

const reportsIdentity = true

// identityOf reads the start of a process from the 22nd field of its stat. The second one
// is the name of the program, which may contain spaces and parentheses.
func identityOf(pid int) (Identity, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Identity{}, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 ||
		string(fields[0]) == "Z" ||
		string(fields[0]) == "X" { // it has ended
		return Identity{}, false
	}
	start, err := strconv.ParseInt(string(fields[19]), 10, 64)
	if err != nil {
		return Identity{}, false
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Identity{}, false
	}
	return Identity{PID: pid, Start: start, Boot: string(bytes.TrimSpace(boot))}, true
}
