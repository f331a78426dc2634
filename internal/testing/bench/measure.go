package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"time"
)

// program is one thing to measure: a process from its start to its end.
type program struct {
	argv  []string
	dir   string
	env   []string
	stdin string
}

// sample is what several runs of one program cost.
type sample struct {
	times []time.Duration
	cpu   []time.Duration // of all processors together
	rss   int64           // bytes, the largest of all runs; 0 if the system does not report it
}

// race runs the programs in turn, so that other load on the machine affects all
// of them. The first round is discarded: it fills caches.
func race(rounds int, programs ...program) ([]sample, error) {
	out := make([]sample, len(programs))
	for i := range rounds + 1 {
		for k, p := range programs {
			o, err := p.once()
			if err != nil {
				return nil, err
			}
			if i > 0 {
				out[k].add(o)
			}
		}
	}
	return out, nil
}

// outcome is what one run cost.
type outcome struct {
	elapsed, cpu time.Duration
	rss          int64
}

func (s *sample) add(o outcome) {
	s.times = append(s.times, o.elapsed)
	s.cpu = append(s.cpu, o.cpu)
	s.rss = max(s.rss, o.rss)
}

func (p program) once() (outcome, error) {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir = p.dir
	cmd.Env = p.env
	if p.stdin != "" {
		cmd.Stdin = bytes.NewReader([]byte(p.stdin))
	}
	var said bytes.Buffer
	cmd.Stdout = &said
	cmd.Stderr = &said
	start := time.Now()
	err := cmd.Run()
	elapsed := time.Since(start)
	if err != nil {
		return outcome{}, fmt.Errorf("running %q: %w\n%s", p.argv, err, said.Bytes())
	}
	state := cmd.ProcessState
	return outcome{elapsed, state.UserTime() + state.SystemTime(), residentSize(state)}, nil
}

func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)/2]
}

// over returns how much longer s took than another: by the median, and by the
// fastest runs, which other load on the machine affects least. Machines differ by more than
// versions of rye do, so it also returns both as multiples of what the other took.
func (s sample) over(other sample) string {
	middle := median(other.times)
	least := slices.Min(other.times)
	longer := median(s.times) - middle
	fastest := slices.Min(s.times) - least
	return fmt.Sprintf(
		"%s, fastest %s: %.1f and %.1f times it",
		ms(longer),
		ms(fastest),
		float64(longer)/float64(middle),
		float64(fastest)/float64(least),
	)
}

// ratio compares the middle of two lists of times.
func ratio(a, b []time.Duration) string {
	return fmt.Sprintf("%.2f", float64(median(a))/float64(median(b)))
}

// ratios adds the ratio between the fastest runs.
func (s sample) ratios(other sample) string {
	return fmt.Sprintf(
		"%s, fastest %.2f",
		ratio(s.times, other.times),
		float64(slices.Min(s.times))/float64(slices.Min(other.times)),
	)
}

func (s sample) String() string {
	return fmt.Sprintf(
		"%s (%s–%s)",
		ms(median(s.times)),
		ms(slices.Min(s.times)),
		ms(slices.Max(s.times)),
	)
}

func ms(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

func mb(n int64) string {
	if n == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.0f MB", float64(n)/(1<<20))
}
