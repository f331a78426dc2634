package git

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// guard ends processes that together take more than a limit of memory for what remotes
// send: git has no limit of its own. A limit of the system for each process would apply to
// credential helpers and ssh, too, and they could not start.
type guard struct {
	limit int64 // bytes
	mu    sync.Mutex
	trees map[int]func(limit int64) // the process of each command -> the function to call
}

// watch adds the tree of a process until the returned function is called.
func (g *guard) watch(pid int, stop func(limit int64)) (done func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.trees) == 0 {
		g.trees = map[int]func(int64){}
		go g.loop()
	}
	g.trees[pid] = stop
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.trees, pid)
	}
}

// loop compares the memory with the limit as long as there are processes. A page of
// memory takes longer to fill than the time between two comparisons allows to miss.
func (g *guard) loop() {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if g.compare() {
			return
		}
	}
}

// compare ends the largest process if all take too much. It reports that there are none.
func (g *guard) compare() (none bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var total, most int64
	var largest, tree int
	for pid := range g.trees {
		for _, p := range family(pid) {
			n := resident(p)
			if total += n; n > most {
				most = n
				largest = p
				tree = pid
			}
		}
	}
	if total > g.limit {
		// The process with the memory is killed; git itself removes its locks.
		_ = syscall.Kill(largest, syscall.SIGKILL)
		g.trees[tree](g.limit)
	}
	return len(g.trees) == 0
}

// family returns a process and its descendants.
func family(pid int) []int {
	out := []int{pid}
	for i := 0; i < len(out) && len(out) < 1000; i++ {
		p := strconv.Itoa(out[i])
		b, err := os.ReadFile("/proc/" + p + "/task/" + p + "/children")
		if err != nil {
			continue // it ended
		}
		for _, word := range strings.Fields(string(b)) {
			if child, err := strconv.Atoi(word); err == nil {
				out = append(out, child)
			}
		}
	}
	return out
}

// resident returns the bytes that a process has in memory for itself, 0 if it ended. Files
// that it has mapped, as git maps packs, can be dropped at any time.
func resident(pid int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	words := bytes.Fields(b)
	if len(words) < 3 {
		return 0
	}
	all, _ := strconv.ParseInt(string(words[1]), 10, 64)
	shared, _ := strconv.ParseInt(string(words[2]), 10, 64)
	return (all - shared) * int64(os.Getpagesize())
}
