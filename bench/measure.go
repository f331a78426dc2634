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
	rss   int64 // bytes, the largest of all runs; 0 where the system does not tell
}

// race runs the programs in turn, so that what else happens on the machine
// meets them alike. The first round is thrown away: it fills caches.
func race(rounds int, programs ...program) ([]sample, error) {
	out := make([]sample, len(programs))
	for i := range rounds + 1 {
		for k, p := range programs {
			took, rss, err := p.once()
			if err != nil {
				return nil, err
			}
			if i > 0 {
				out[k].times = append(out[k].times, took)
				out[k].rss = max(out[k].rss, rss)
			}
		}
	}
	return out, nil
}

func (p program) once() (time.Duration, int64, error) {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir, cmd.Env = p.dir, p.env
	if p.stdin != "" {
		cmd.Stdin = bytes.NewReader([]byte(p.stdin))
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil {
		return 0, 0, fmt.Errorf("running %q: %w\n%s", p.argv, err, said.Bytes())
	}
	return took, residentSize(cmd.ProcessState), nil
}

func (s sample) median() time.Duration {
	sorted := slices.Sorted(slices.Values(s.times))
	return sorted[len(sorted)/2]
}

func (s sample) String() string {
	return fmt.Sprintf("%s (%s–%s)", ms(s.median()), ms(slices.Min(s.times)), ms(slices.Max(s.times)))
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
