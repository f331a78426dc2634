package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/threads/provider/scripted"
)

// heldScenario is the one answer of a thread that is held until the bench releases it.
const heldScenario = `dialect: openai_chat
usage: {input: 100, output: 20}
steps:
  - send: {calls: [{name: directive_return, input: {label: bug}}]}
`

// held answers no request until release is closed.
type held struct {
	mu      sync.Mutex
	arrived int
	last    time.Time // when the last one came
	release chan struct{}
}

// latest returns when the last request came.
func (h *held) latest() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// hold makes the requests that come now wait again, and returns the function that ends it.
func (h *held) hold() (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.arrived = 0
	h.release = make(chan struct{})
	return sync.OnceFunc(func() { close(h.release) })
}

func (h *held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.arrived++
	h.last = time.Now()
	release := h.release
	h.mu.Unlock()
	select {
	case <-release:
	case <-r.Context().Done():
		return
	}
	scenario, err := scripted.Parse("held", []byte(heldScenario))
	if err != nil {
		panic(err) // the text above
	}
	(&scripted.Server{Scenario: scenario}).ServeHTTP(w, r)
}

// arrive waits until n requests have come.
func (h *held) arrive(n int) error {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		h.mu.Lock()
		got := h.arrived
		h.mu.Unlock()
		if got == n {
			return nil
		}
	}
	return fmt.Errorf("%d threads did not call their model within two minutes", n)
}

// spawned is what rye spawn --json prints.
type spawned struct {
	Data struct {
		ID string `json:"thread_id"`
	} `json:"data"`
}

func (b *bench) spawn(dir string) (out spawned, elapsed time.Duration, err error) {
	p := b.program(dir, b.rye, "spawn", "directive", "demo/held", "--json")
	c := exec.Command(p.argv[0], p.argv[1:]...)
	c.Dir = p.dir
	c.Env = p.env
	start := time.Now()
	raw, err := c.Output()
	if err != nil {
		return out, 0, fmt.Errorf("rye spawn: %w\n%s", err, raw)
	}
	elapsed = time.Since(start)
	return out, elapsed, json.Unmarshal(raw, &out)
}

// manyThreads starts threads that live at the same time, and measures their start, their
// memory, and their end.
func (b *bench) manyThreads(dir string, h *held) error {
	count := b.spawns / 2
	release := h.hold()
	defer release()
	var ids []string
	var starts []time.Duration
	began := time.Now()
	for range count {
		got, elapsed, err := b.spawn(dir)
		if err != nil {
			return err
		}
		ids = append(ids, got.Data.ID)
		starts = append(starts, elapsed)
	}
	if err := h.arrive(count); err != nil {
		return err
	}
	all := time.Since(began)
	memory, processes := threadMemory()
	release()
	began = time.Now()
	_, err := b.program(dir, append(
		[]string{b.rye, "-q", "threads", "wait"},
		ids...,
	)...).once()
	if err != nil {
		return err
	}
	ends := time.Since(began)
	bare, err := race(max(b.rounds, 3), b.program(
		dir,
		b.rye,
		"run",
		"directive",
		"demo/held",
		"--dry-run",
	))
	if err != nil {
		return err
	}
	fmt.Printf("\n| threads at the same time | rye spawn, each | rye that prepares the directive only | until all call their model | memory of each | processes | until all have ended |\n|---|---|---|---|---|---|---|\n")
	fmt.Printf(
		"| %d | %s | %s | %s | %s | %d | %s |\n",
		count,
		ms(median(starts)),
		bare[0],
		ms(all),
		mb(memory/int64(count)),
		processes,
		ms(ends),
	)
	return nil
}

// threadMemory returns the bytes of all processes of threads, pages that they share counted
// once, and the number of the processes; 0 where the system does not have /proc.
func threadMemory() (bytes int64, processes int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !strings.Contains(string(args), "\x00thread-process\x00") {
			continue
		}
		rollup, err := os.ReadFile(filepath.Join(dir, "smaps_rollup"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(rollup)) {
			if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
				kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				bytes += kib << 10
			}
		}
		processes++
	}
	return bytes, processes
}

// wakeUp measures the time from the end of a thread, when its result is written, to the
// end of a command that waits for it.
func (b *bench) wakeUp(dir string, h *held) error {
	var late []time.Duration
	var last string
	for range max(b.rounds, 3) {
		release := h.hold()
		defer release()
		got, _, err := b.spawn(dir)
		if err != nil {
			return err
		}
		if err := h.arrive(1); err != nil {
			return err
		}
		ended := make(chan error, 1)
		var at time.Time
		go func() {
			_, err := b.program(
				dir,
				b.rye,
				"-q",
				"threads",
				"wait",
				got.Data.ID,
			).once()
			at = time.Now()
			ended <- err
		}()
		time.Sleep(300 * time.Millisecond) // the command waits now
		release()
		if err := <-ended; err != nil {
			return err
		}
		fi, err := os.Stat(filepath.Join(dir, ".ai", "threads", got.Data.ID, "result.json"))
		if err != nil {
			return err
		}
		late = append(late, at.Sub(fi.ModTime()))
		last = got.Data.ID
	}
	done, err := race(max(b.rounds, 3), b.program(
		dir,
		b.rye,
		"-q",
		"threads",
		"wait",
		last,
	))
	if err != nil {
		return err
	}
	fmt.Printf("\n| rye threads wait | from the result of the thread to the end of the command | the command for a thread that has ended |\n|---|---|---|\n")
	fmt.Printf(
		"| one thread | %s (%s–%s) | %s |\n",
		ms(median(late)),
		ms(slices.Min(late)),
		ms(slices.Max(late)),
		done[0],
	)
	return nil
}

// heldThreads measures threads whose model answers when the bench permits it.
func (b *bench) heldThreads(dir string, h *held) error {
	return errors.Join(b.manyThreads(dir, h), b.wakeUp(dir, h))
}
