// Package telemetry has the applets that report about this machine: telemetry
// summarises the local record of runs, system returns paths, the time and the
// platform.
//
// It sends nothing anywhere and shows no environment variable except the paths
// that rye uses.
package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/runlog"
	"github.com/ryeos/rye/internal/userdirs"
)

// Applets returns the applets by name.
func Applets() map[string]wire.Func {
	return map[string]wire.Func{"system": runSystem, "telemetry": runTelemetry}
}

type telemetryResult struct {
	Success bool           `json:"success"`
	Output  string         `json:"output"`
	Item    string         `json:"item"`
	Data    map[string]any `json:"data"`
}

// toolStats is the summary of the runs of one tool.
type toolStats struct {
	Ref    string `json:"ref"`
	Runs   int    `json:"runs"`
	Failed int    `json:"failed"`
	Median int64  `json:"median_ms"`
	Max    int64  `json:"max_ms"`
}

// runTelemetry summarises the record of runs of this machine. The record has no
// parameters and no results.
// A record of a run is its item, time, duration and code. It has no messages: the output of a
// tool belongs to its caller.
func runTelemetry(_ context.Context, p wire.Params, in map[string]any) (any, error) {
	a := wire.NewArgs(in, "item", "limit", "ref")
	item := a.String("item", "all")
	limit := a.Int("limit", 50, 1, 1000)
	ref := a.String("ref", "")
	if !slices.Contains([]string{"logs", "stats", "errors", "all"}, item) {
		a.Reject("item", "must be logs, stats, errors or all, not %q", item)
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	log := &runlog.Log{Dir: userdirs.For(p.Getenv, runtime.GOOS).State}
	entries, state, err := log.Read()
	if err != nil {
		return nil, err
	}
	if ref != "" {
		entries = slices.DeleteFunc(entries, func(e runlog.Entry) bool {
			return e.Ref != ref && strings.TrimPrefix(e.Ref, "tool:") != ref
		})
	}
	r := telemetryResult{Success: true, Item: item, Data: map[string]any{"log": map[string]any{
		"dir": log.Dir, "exists": state.Files > 0, "files": state.Files, "bytes": state.Bytes, "skipped": state.Skipped,
	}}}
	var b strings.Builder
	if item == "stats" || item == "all" {
		r.Data["stats"] = stats(&b, entries)
	}
	if item == "logs" || item == "all" {
		r.Data["logs"] = newest(&b, "runs, the newest first", entries, limit)
	}
	if item == "errors" || item == "all" {
		failed := slices.DeleteFunc(slices.Clone(entries), func(e runlog.Entry) bool {
			return e.Code == ""
		})
		r.Data["errors"] = newest(&b, "runs that failed, the newest first", failed, limit)
	}
	r.Output = b.String()
	return r, nil
}

// newest writes and returns the last entries, the newest first.
func newest(b *strings.Builder, title string, entries []runlog.Entry, limit int) map[string]any {
	list := slices.Clone(entries[max(0, len(entries)-limit):])
	slices.Reverse(list)
	fmt.Fprintf(b, "%s: %d of %d\n", title, len(list), len(entries))
	for _, e := range list {
		fmt.Fprintf(
			b,
			"  %s  %-9s %6d ms  %s\n",
			e.Time.Format(time.RFC3339),
			cmp.Or(string(e.Code), "ok"),
			e.Duration,
			e.Ref,
		)
	}
	return map[string]any{"entries": list, "total": len(entries), "returned": len(list)}
}

// stats writes and returns the summary per tool, the most used first.
func stats(b *strings.Builder, entries []runlog.Entry) map[string]any {
	byRef := map[string][]runlog.Entry{}
	codes := map[diag.Code]int{}
	failed := 0
	for _, e := range entries {
		byRef[e.Ref] = append(byRef[e.Ref], e)
		if e.Code != "" {
			codes[e.Code]++
			failed++
		}
	}
	var tools []toolStats
	for _, ref := range slices.Sorted(maps.Keys(byRef)) {
		tools = append(tools, summarise(ref, byRef[ref]))
	}
	slices.SortStableFunc(tools, func(a, b toolStats) int {
		return cmp.Compare(b.Runs, a.Runs)
	})
	tools = tools[:min(len(tools), 50)]
	out := map[string]any{
		"runs":   len(entries),
		"failed": failed,
		"codes":  codes,
		"tools":  tools,
	}
	fmt.Fprintf(b, "%d runs, %d failed\n", len(entries), failed)
	if len(entries) > 0 {
		out["since"] = entries[0].Time
		out["until"] = entries[len(entries)-1].Time
	}
	for _, t := range tools {
		fmt.Fprintf(
			b,
			"  %5d runs  %4d failed  median %6d ms  max %6d ms  %s\n",
			t.Runs,
			t.Failed,
			t.Median,
			t.Max,
			t.Ref,
		)
	}
	return out
}

func summarise(ref string, entries []runlog.Entry) toolStats {
	t := toolStats{Ref: ref, Runs: len(entries)}
	times := make([]int64, 0, len(entries))
	for _, e := range entries {
		if e.Code != "" {
			t.Failed++
		}
		times = append(times, e.Duration)
	}
	slices.Sort(times)
	t.Median = times[len(times)/2]
	t.Max = times[len(times)-1]
	return t
}
