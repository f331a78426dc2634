package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/store"
)

// ledgerTime is how long the processes reserve.
const ledgerTime = 3 * time.Second

// reserve is one process of the measurement: it reserves and settles again and again, and
// prints how long each reservation took. A directory with the file bare is the reference:
// the process appends a line to it under a lock, and waits for the disk.
func reserve(ctx context.Context, dir, id string) error {
	do, err := ledgerUser(ctx, dir, id)
	if err != nil {
		return err
	}
	times := []time.Duration{}
	for n, end := 0, time.Now().Add(ledgerTime); time.Now().Before(end); n++ {
		start := time.Now()
		err := do(fmt.Sprintf("%s-%d", id, n), false)
		if err != nil {
			return err
		}
		times = append(times, time.Since(start))
		err = do(fmt.Sprintf("%s-%d", id, n), true)
		if err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(times)
}

// ledgerUser returns a function that reserves, or settles the reservation.
func ledgerUser(ctx context.Context, dir, id string) (func(call string, settle bool) error, error) {
	bare := filepath.Join(dir, "bare")
	if _, err := os.Stat(bare); err == nil {
		return func(call string, settle bool) error {
			return flushLine(ctx, bare, fmt.Sprintln(call, settle))
		}, nil
	}
	s, err := store.Open(ctx, dir, store.Params{})
	if err != nil {
		return nil, err
	}
	o, err := s.Register(ctx, store.Thread{ID: id}, store.Budget{Max: 1 << 40, Periods: policy.Periods{PerDay: 1 << 50, PerMonth: 1 << 50}})
	if err != nil {
		return nil, err
	}
	return func(call string, settle bool) error {
		if settle {
			_, err := o.Settle(ctx, call, 1, false)
			return err
		}
		return o.Reserve(ctx, call, "scripted", 2)
	}, nil
}

// flushLine appends a line to a file under a lock, and waits for the disk.
func flushLine(ctx context.Context, name, line string) error {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	lock, err := filelock.Wait(ctx, f)
	if err != nil {
		return err
	}
	defer lock.Release() // closes the file
	_, err = f.WriteString(line)
	return errors.Join(err, f.Sync())
}

// ledger counts the reservations of many processes, each durable before the next one of
// its process begins.
func (b *bench) ledger(ctx context.Context) error {
	fmt.Printf("\n| processes that reserve and settle | reservations and settlements a second | a reservation, half within | 99 of 100 within | locked and flushed lines alone, a second | half within | 99 of 100 within |\n|---|---|---|---|---|---|---|\n")
	for _, count := range []int{1, 8, 32} {
		dir := filepath.Join(b.work, fmt.Sprintf("ledger-%d", count))
		bare := filepath.Join(dir, "reference")
		err := errors.Join(os.MkdirAll(bare, 0o700), os.WriteFile(filepath.Join(bare, "bare"), nil, 0o600))
		if err != nil {
			return err
		}
		s, err := store.Open(ctx, dir, store.Params{})
		if err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return err
		}
		rate, half, most, err := b.reserving(dir, count)
		if err != nil {
			return err
		}
		bareRate, bareHalf, bareMost, err := b.reserving(bare, count)
		if err != nil {
			return err
		}
		fmt.Printf(
			"| %d | %.0f | %s | %s | %.0f | %s | %s |\n",
			count,
			rate,
			ms(half),
			ms(most),
			bareRate,
			ms(bareHalf),
			ms(bareMost),
		)
	}
	return nil
}

// reserving runs the processes and returns the operations a second and how long
// reservations took.
func (b *bench) reserving(dir string, count int) (rate float64, half, most time.Duration, err error) {
	type answer struct {
		times []time.Duration
		err   error
	}
	answers := make(chan answer)
	for n := range count {
		go func() {
			var a answer
			cmd := exec.Command(b.self, "reserve", dir, fmt.Sprint("t", n))
			cmd.Stderr = os.Stderr
			raw, err := cmd.Output()
			if a.err = err; err == nil {
				a.err = json.Unmarshal(raw, &a.times)
			}
			answers <- a
		}()
	}
	var all []time.Duration
	for range count {
		a := <-answers
		err = errors.Join(err, a.err)
		all = append(all, a.times...)
	}
	if err != nil || len(all) == 0 {
		return 0, 0, 0, fmt.Errorf("%d processes made %d reservations: %w", count, len(all), err)
	}
	slices.Sort(all)
	return float64(2*len(all)) / ledgerTime.Seconds(), all[len(all)/2], all[len(all)*99/100], nil
}
