package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// The children that one answer starts: many that are held at their first request, and few that
// the parent waits for.
const (
	manyChildren   = 100
	waitedChildren = 16
)

// parentDirective returns a directive that may start threads.
func parentDirective(name string) string {
	return measuredDirective{
		name:        name,
		model:       name + "-model",
		body:        "Divide the work.",
		limits:      `turns="4" tokens="500000" spend="5" spawns="200" depth="2"`,
		permissions: "<tool>rye/agent/threads/thread_directive</tool><directive>demo/*</directive>",
	}.text()
}

// childDirective returns a directive that a parent starts.
func childDirective(name string) string {
	return measuredDirective{
		name:        name,
		model:       name + "-model",
		body:        "Do a part.",
		limits:      `turns="2" tokens="20000" spend="0.02"`,
		permissions: "<tool>rye/file-system/read</tool>",
	}.text()
}

const manyAllowance = `schema_version: "1.0.0"
category: agent
description: Many threads at the same time.
concurrency: {threads: 400, children: 200}
`

// childServer is the model of parents, which answer with the calls of their scenario, and of
// children, which are held or answer at once.
type childServer struct {
	held *held

	mu       sync.Mutex
	parents  map[string]*scripted.Server
	answered time.Time // when a parent got its first answer
}

// parentScenario starts a number of children, and then ends.
func parentScenario(directive, mode string, count int) string {
	var b strings.Builder
	b.WriteString("dialect: openai_chat\nusage: {input: 100, output: 20}\nsteps:\n")
	if count > 0 {
		b.WriteString("  - send:\n      calls:\n")
		for range count {
			fmt.Fprintf(&b, "        - {name: rye__agent__threads__thread_directive, input: {directive_id: demo/%s, mode: %s}}\n", directive, mode)
		}
	}
	b.WriteString("  - send: {text: Done.}\n")
	return b.String()
}

func (s *childServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch name {
	case "late":
		s.held.ServeHTTP(w, r)
		return
	case "part":
		s.answer("dialect: openai_chat\nusage: {input: 100, output: 20}\nsteps:\n  - send: {text: Done.}\n").ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	p := s.parents[name]
	if p == nil || p.Unused() == 0 {
		p = s.answer(map[string]string{
			"many": parentScenario("late", "spawn", manyChildren), "few": parentScenario("part", "wait", waitedChildren), "alone": parentScenario("", "", 0),
		}[name])
		s.parents[name] = p
	}
	first := p.Unused() == 2
	s.mu.Unlock()
	p.ServeHTTP(w, r)
	if first {
		s.mu.Lock()
		s.answered = time.Now()
		s.mu.Unlock()
	}
}

func (s *childServer) answer(scenario string) *scripted.Server {
	parsed, err := scripted.Parse("scenario", []byte(scenario))
	if err != nil {
		panic(err) // the text of this file
	}
	return &scripted.Server{Scenario: parsed}
}

// children measures the threads that one answer of a model starts.
func (b *bench) children() error {
	s := &childServer{held: &held{}, parents: map[string]*scripted.Server{}}
	server := httptest.NewServer(s)
	defer server.Close()
	dir := filepath.Join(b.work, "children")
	home := filepath.Join(b.work, "home")
	files := map[string]string{filepath.Join(home, ".ai/config/agent/allowance.yaml"): manyAllowance}
	for _, name := range []string{"many", "few", "alone", "late", "part"} {
		text := parentDirective
		if name == "late" || name == "part" {
			text = childDirective
		}
		files[filepath.Join(dir, ".ai/directives/demo", name+".md")] = text(name)
		files[filepath.Join(dir, ".ai/tools/demo", name+"-model.yaml")] = fmt.Sprintf(threadModel, server.URL+"/"+name)
	}
	for path, text := range files {
		err := errors.Join(
			os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644),
		)
		if err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"sign", "*"}, {"sign", filepath.Join(home, ".ai/config/agent/allowance.yaml")}} {
		_, err := b.program(dir, append([]string{b.rye}, args...)...).once()
		if err != nil {
			return err
		}
	}
	return errors.Join(b.childrenBegin(dir, s), b.childrenWhole(dir))
}

// childrenBegin measures until all children of an answer have sent their first request.
func (b *bench) childrenBegin(dir string, s *childServer) error {
	var until, child, parent []time.Duration
	version, err := race(
		max(b.rounds, 3),
		b.program(dir, b.rye, "version"),
	)
	if err != nil {
		return err
	}
	for range max(b.rounds/3, 2) {
		release := s.held.hold()
		p := b.program(dir, b.rye, "-q", "run", "directive", "demo/many")
		c := exec.Command(p.argv[0], p.argv[1:]...)
		c.Dir = p.dir
		c.Env = p.env
		if err := c.Start(); err != nil {
			return err
		}
		err := s.held.arrive(manyChildren)
		last := s.held.latest()
		each := childTimes(b.rye)
		err = errors.Join(err, c.Wait()) // before a child ends, whose time would be a part of it
		release()
		if err != nil {
			return fmt.Errorf("running a parent of %d children: %w", manyChildren, err)
		}
		s.mu.Lock()
		until = append(until, last.Sub(s.answered))
		s.mu.Unlock()
		parent = append(parent, (c.ProcessState.UserTime()+c.ProcessState.SystemTime())/manyChildren)
		if len(each) > 0 {
			child = append(child, median(each))
		}
		// The next parent must not share the processors with the ends of these.
		for len(childTimes(b.rye)) > 0 {
			time.Sleep(20 * time.Millisecond)
		}
	}
	figure := func(d []time.Duration) string {
		if len(d) == 0 {
			return "unknown" // the system does not have /proc
		}
		return fmt.Sprintf(
			"%s (%s–%s)",
			ms(median(d)),
			ms(slices.Min(d)),
			ms(slices.Max(d)),
		)
	}
	fmt.Printf("\n| children of one answer | all have sent their first request after | processor time of a child until then | of the parent for each | of `rye version` | ratio of a child to it |\n|---|---|---|---|---|---|\n")
	least := "unknown"
	if len(child) > 0 {
		least = fmt.Sprintf(
			"%s, fastest %.2f",
			ratio(child, version[0].cpu),
			float64(slices.Min(child))/float64(slices.Min(version[0].cpu)),
		)
	}
	fmt.Printf(
		"| %d | %s | %s | %s | %s | %s |\n",
		manyChildren,
		figure(until),
		figure(child),
		figure(parent),
		figure(version[0].cpu),
		least,
	)
	return nil
}

// childrenWhole measures children of one turn that their parent waits for, against the same
// parent without children.
func (b *bench) childrenWhole(dir string) error {
	got, err := race(
		max(b.rounds, 3),
		b.program(dir, b.rye, "-q", "run", "directive", "demo/few"),
		b.program(dir, b.rye, "-q", "run", "directive", "demo/alone"),
	)
	if err != nil {
		return err
	}
	few := got[0]
	alone := got[1]
	fmt.Printf("\n| children of one turn that a parent waits for | with them | the same parent without | processor time of each, with what the parent does for it |\n|---|---|---|---|\n")
	fmt.Printf("| %d | %s | %s | %s, fastest %s |\n", waitedChildren, few, alone,
		ms((median(few.cpu)-median(alone.cpu))/waitedChildren), ms(
			(slices.Min(few.cpu)-slices.Min(alone.cpu))/waitedChildren,
		))
	return nil
}

// childTimes returns the processor time of each process of a thread, where the system has /proc.
func childTimes(program string) (out []time.Duration) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil ||
			!strings.HasPrefix(string(args), program+"\x00") ||
			!strings.Contains(string(args), "\x00thread-process\x00") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err == nil {
			if d := usedTime(pid); d > 0 { // 0 has ended meanwhile
				out = append(out, d)
			}
		}
	}
	return out
}

// usedTime returns the processor time of the threads that a process has, 0 if it is not known.
func usedTime(pid int) (sum time.Duration) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, task := range tasks {
		b, err := os.ReadFile(task)
		fields := strings.Fields(string(b))
		if err == nil && len(fields) > 0 {
			ns, _ := strconv.ParseInt(fields[0], 10, 64)
			sum += time.Duration(ns)
		}
	}
	return sum
}
