package main

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// graphHead begins the file of each graph that is measured.
const graphHead = `version: "1.0.0"
tool_type: graph
executor_id: rye/core/runtimes/state_graph_runtime
category: demo
description: Is measured.
config:
`

// graphs compares runs of graphs with the programs that their nodes start, and with
// writing as many chained lines as a run has.
func (b *bench) graphs() error {
	shell, err := exec.LookPath("bash")
	if err != nil {
		fmt.Println("\ngraph: left out, bash is not installed")
		return nil
	}
	dir := filepath.Join(b.work, "graphs")
	steps := []int{1000, 10_000, 20_000}
	items := 1000
	if b.spawns < 100 {
		steps = []int{200, 1000, 2000}
		items = 50
	}
	if err := b.writeGraphs(dir, steps, items); err != nil {
		return err
	}
	return errors.Join(
		b.threeNodes(dir, shell),
		b.manySteps(dir, steps),
		b.manyItems(dir, shell, items),
	)
}

func (b *bench) writeGraphs(dir string, steps []int, items int) error {
	bash := func(command string) string {
		return fmt.Sprintf("{action: {item_id: rye/bash/bash, params: {command: %q}}", command)
	}
	texts := map[string]string{
		"none":  "  start: a\n  nodes:\n    a: {type: return, output: {}}\n",
		"three": "  start: a\n  nodes:\n    a: " + bash("echo a") + ", next: b}\n    b: " + bash("echo b") + ", next: c}\n    c: " + bash("echo c") + "}\n",
	}
	list := make([]string, items)
	for i := range list {
		list[i] = strconv.Itoa(i)
	}
	texts["items"] = "  start: a\n  max_concurrency: 8\n  state: {list: [" + strings.Join(list, ", ") + "]}\n  nodes:\n" +
		"    a: {type: foreach, over: \"${state.list}\", as: n, parallel: true, action: {item_id: rye/bash/bash, params: {command: \"echo ${n}\"}}, next: b}\n    b: {type: return, output: {}}\n"
	for _, n := range steps {
		texts["steps"+strconv.Itoa(n)] = fmt.Sprintf("  start: a\n  max_steps: %d\n  nodes:\n    a: {type: gate, next: [{to: b, when: \"run.step < %d\"}, {to: c}]}\n    b: {type: gate, next: a}\n    c: {type: return, output: {}}\n", n+10, n)
	}
	at := filepath.Join(dir, ".ai", "tools", "demo")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	for name, text := range texts {
		err := os.WriteFile(
			filepath.Join(at, name+".yaml"),
			[]byte(graphHead+text),
			0o644,
		)
		if err != nil {
			return err
		}
	}
	_, err := b.program(dir, b.rye, "sign", "*").once()
	return err
}

func (b *bench) graph(dir, name string) program {
	return b.program(dir, b.rye, "-q", "graph", "run", "demo/"+name)
}

// threeNodes compares three nodes that run bash with three times bash alone, and with
// a graph without nodes that start programs.
func (b *bench) threeNodes(dir, shell string) error {
	got, err := race(
		b.spawns,
		b.graph(dir, "three"),
		b.program(dir, shell, "-c", "echo a"),
		b.graph(dir, "none"),
	)
	if err != nil {
		return err
	}
	three := got[0]
	bare := got[1]
	none := got[2]
	thrice := sample{}
	for _, t := range bare.times {
		thrice.times = append(thrice.times, 3*t)
	}
	fmt.Printf("\n| graph | rye | three times bash alone | over it | a graph of one return node | each bash node | processor time of it |\n|---|---|---|---|---|---|---|\n")
	fmt.Printf("| three bash nodes | %s | %s | %s | %s | %s | %s |\n", three, thrice, three.over(thrice), none,
		ms((median(three.times)-median(none.times))/3), ms((median(three.cpu)-median(none.cpu))/3))
	return nil
}

// manySteps measures graphs of nodes that call nothing. The reference writes as many
// bytes in chained lines.
func (b *bench) manySteps(dir string, steps []int) error {
	fmt.Printf("\n| steps | rye | chained lines alone | each step | bytes of the log for a step | memory |\n|---|---|---|---|---|---|\n")
	for _, n := range steps {
		name := "steps" + strconv.Itoa(n)
		p := b.graph(dir, name)
		if _, err := p.once(); err != nil {
			return err
		}
		logs, _ := filepath.Glob(filepath.Join(dir, ".ai", "threads", name+"-*", "transcript.jsonl"))
		if len(logs) != 1 {
			return fmt.Errorf("%d logs of %s, want 1", len(logs), name)
		}
		info, err := os.Stat(logs[0])
		if err != nil {
			return err
		}
		length := info.Size() / int64(2*n)
		got, err := race(min(b.rounds, 3), p, b.program(
			dir,
			b.self,
			"lines",
			filepath.Join(b.work, "lines"),
			strconv.Itoa(2*n),
			strconv.FormatInt(length, 10),
		))
		if err != nil {
			return err
		}
		fmt.Printf(
			"| %d | %s | %s | %s | %d | %s |\n",
			n,
			got[0],
			got[1],
			ms(median(got[0].times)/time.Duration(n)),
			info.Size()/int64(n),
			mb(got[0].rss),
		)
	}
	return nil
}

// manyItems compares a foreach over items, eight at a time, with xargs.
func (b *bench) manyItems(dir, shell string, items int) error {
	xargs, err := exec.LookPath("xargs")
	if err != nil {
		fmt.Println("\nitems: left out, xargs is not installed")
		return nil
	}
	bare := b.program(dir, xargs, "-P", "8", "-n", "1", shell, "-c", "echo $0")
	for i := range items {
		bare.stdin += strconv.Itoa(i) + "\n"
	}
	got, err := race(min(b.rounds, 3), b.graph(dir, "items"), bare)
	if err != nil {
		return err
	}
	fmt.Printf("\n| items, eight at a time | rye | xargs -P 8 bash | ratio | each item over it | processor time of each | memory |\n|---|---|---|---|---|---|---|\n")
	fmt.Printf("| %d | %s | %s | %s | %s | %s | %s |\n", items, got[0], got[1], got[0].ratios(got[1]),
		ms((median(got[0].times)-median(got[1].times))/time.Duration(items)), ms(median(got[0].cpu)/time.Duration(items)), mb(got[0].rss))
	return nil
}

// writeLines writes lines of a length, each with the SHA-256 of the one before.
func writeLines(file string, count, length int) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	var prev [32]byte
	for range count {
		line := fmt.Appendf(nil, "%x", prev)
		for len(line) < length-1 {
			line = append(line, '.')
		}
		line = append(line, '\n')
		prev = sha256.Sum256(line)
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return errors.Join(w.Flush(), f.Sync(), f.Close())
}
