package confine

import (
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// program is the confined program with its children.
type program struct {
	spec     *Spec
	ready    chan struct{} // closed when the helper receives signals
	pid      atomic.Int64  // 0 before it is started
	ended    atomic.Bool   // supervise has waited for it
	stopping atomic.Bool   // SIGTERM has arrived
	outputs  [2]uint64     // inodes of stdout and stderr
	io       int           // /proc/self/io, with the children that were waited for; -1 without
	spare    uint64        // bytes of data that the helper has, and some more

	usage usage

	exceeded atomic.Pointer[excess]
	lost     atomic.Int64 // ticks of processes that no other one waited for

	mu       sync.Mutex // of children
	children *table     // nil before it is needed: most programs end earlier
}

// excess is a limit that was exceeded, with the measured value in its unit.
type excess struct {
	limit    string
	measured int64
}

func outputs() (ino [2]uint64) {
	for i := range ino {
		var st syscall.Stat_t
		if syscall.Fstat(1+i, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFIFO {
			ino[i] = st.Ino
		}
	}
	return ino
}

// prepare opens what the helper needs next to the program.
func (p *program) prepare() {
	if !p.spec.Namespaces {
		_ = prctl(prSetChildSubreaper, 1, 0) // children that leave their group are still found
	}
	p.io, p.outputs = -1, outputs()
	fd, err := syscall.Open("/proc/self/io", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err == nil {
		p.io = fd
	}
	p.usage.open(&p.spec.Watch)
	p.spare = ownData() + 16<<20
}

// ownData returns the bytes of data and stacks of this process, 0 if they are not known.
func ownData() uint64 {
	fd, err := syscall.Open("/proc/self/statm", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer syscall.Close(fd)
	b := make([]byte, 128)
	n, err := syscall.Read(fd, b)
	if err != nil {
		return 0
	}
	field := 0
	for i, c := range b[:n] {
		if c != ' ' {
			continue
		}
		if field++; field == 5 {
			pages, _ := number(b[i+1 : n])
			return uint64(pages) * uint64(os.Getpagesize())
		}
	}
	return 0
}

// receive receives the signals that end a program, and those that a program can send to
// its parent and that would end it: Go ignores the others. Each one that is received costs
// two changes of thread.
func (p *program) receive() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGILL, syscall.SIGTRAP, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSTKFLT, syscall.SIGSYS,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	go p.forward(signals)
}

// start starts the program from this thread, whose restrictions it inherits, in a
// group of its own: a program that signals its group must not end the helper.
func (p *program) start(give func(pid int) error) error {
	files := []uintptr{0, 1, 2}
	for i := range p.spec.Files {
		files = append(files, uintptr(ReportFD+1+i))
	}
	pid, err := syscall.ForkExec(p.spec.Path, p.spec.Argv, &syscall.ProcAttr{
		Dir:   p.spec.Dir,
		Env:   p.spec.Env,
		Files: files,
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return failed("exec", p.spec.Path, err)
	}
	if err := give(pid); err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		return err
	}
	p.pid.Store(int64(pid))
	for i := range p.spec.Files {
		syscall.Close(ReportFD + 1 + i)
	}
	for i := range 3 { // they end with the program and its children
		syscall.Close(i)
	}
	return nil
}

// forward passes signals that end a program on to the group of the program. Other
// signals are ignored: a program can send some to its parent.
func (p *program) forward(signals <-chan os.Signal) {
	for s := range signals {
		no, _ := s.(syscall.Signal)
		pid := int(p.pid.Load())
		switch no {
		case syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT:
		default:
			continue
		}
		if pid == 0 {
			report(Message{Failure: &Failure{Step: SignalStep, What: "the signal " + no.String() + " arrived before the program was started"}})
			os.Exit(Failed)
		}
		_ = syscall.Kill(-pid, no)
		_ = syscall.Kill(-pid, syscall.SIGCONT) // a stopped program does not handle signals
		if no == syscall.SIGTERM && p.spec.Grace > 0 {
			p.stopping.Store(true)
			time.AfterFunc(
				time.Duration(p.spec.Grace)*time.Millisecond,
				func() { p.killAll() },
			)
		}
	}
}

// supervise waits for the end of the program, then ends its children.
func (p *program) supervise() End {
	end := End{Code: Failed} // until the status of the program is known
	for {
		var ws syscall.WaitStatus
		var ru syscall.Rusage
		pid, err := syscall.Wait4(-1, &ws, 0, &ru)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			break
		}
		if int64(pid) != p.pid.Load() {
			continue
		}
		end.Code = ws.ExitStatus()
		end.MaxRSS = ru.Maxrss * 1024
		if ws.Signaled() {
			end.Code, end.Signal = 0, int(ws.Signal())
		}
		break
	}
	p.ended.Store(true)
	report(Message{Exited: true})
	if p.exceeded.Load() == nil {
		p.linger()
	}
	p.killAll()
	if p.spec.Namespaces {
		p.reapAll()
	}
	var all syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &all) == nil {
		end.CPU = microseconds(all.Utime) + microseconds(all.Stime) + p.lost.Load()*10_000
	}
	p.judge(&end)
	return end
}

// judge names the limit that ended the program.
func (p *program) judge(end *End) {
	if x := p.exceeded.Load(); x != nil {
		end.Exceeded = x.limit
		end.Measured = x.measured
		return
	}
	switch syscall.Signal(end.Signal) {
	case syscall.SIGXCPU:
		end.Exceeded = "cpu_seconds"
		end.Measured = end.CPU / 1e6
	case syscall.SIGXFSZ:
		end.Exceeded = "file_size_mb"
	}
}

func microseconds(t syscall.Timeval) int64 {
	return int64(t.Sec)*1e6 + int64(t.Usec)
}

// linger waits while children have an output of the program open.
func (p *program) linger() {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.table()
	for waited := int64(0); waited < p.spec.Linger && p.exceeded.Load() == nil && !p.stopping.Load(); waited += 5 {
		if p.reap() {
			return
		}
		t.read(p.spec.Namespaces)
		if !t.holds(p.outputs) {
			return
		}
		sleep(5)
	}
}

// table returns the table for what is not a measurement. The caller holds mu.
func (p *program) table() *table {
	if p.children == nil {
		p.children = &table{}
	}
	return p.children
}

// killAll ends all children, also those in other groups and sessions.
func (p *program) killAll() {
	if p.spec.Namespaces {
		_ = syscall.Kill(-1, syscall.SIGKILL)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.table()
	for range 200 {
		if p.reap() {
			return // the usual case: reading the processes of the machine takes milliseconds
		}
		t.read(false)
		for i := range t.n {
			_ = syscall.Kill(int(t.rows[i].pid), syscall.SIGKILL)
		}
		sleep(2)
	}
}

// reap waits for children that have ended, and reports whether no others are left. The
// program itself is left to supervise.
func (p *program) reap() bool {
	for p.ended.Load() {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.ECHILD {
			return true
		}
		if err != nil || pid == 0 {
			break
		}
	}
	return false
}

// reapAll waits until no process of the namespace is left but this one: the parent takes
// End as the end of everything that could write.
// The helper stays as process 1 of the namespace: a process 1 ignores signals without a handler,
// so abort would not end a program that had this number.
func (p *program) reapAll() {
	for {
		_, err := syscall.Wait4(-1, nil, 0, nil)
		if err != nil && err != syscall.EINTR {
			return
		}
	}
}

func sleep(ms int64) {
	t := syscall.NsecToTimespec(ms * 1e6)
	_ = syscall.Nanosleep(&t, nil)
}

// watch measures the program until the process ends. It is the main thread, which is not
// restricted like the program.
func (p *program) watch() {
	_ = dropCaps()
	var t *table // from the first measurement on: most programs end before it
	var used ledger
	for pause := int64(50); ; {
		sleep(pause)
		if p.pid.Load() == 0 || p.exceeded.Load() != nil {
			continue
		}
		if pause = p.spec.Watch.Every; pause <= 0 {
			select {} // nothing is limited
		}
		if t == nil {
			t = &table{before: new([maxRows]row)}
			p.usage.dirs = new([maxDepth][4096]byte)
		}
		x := p.over(t, &used)
		if x != nil && p.exceeded.CompareAndSwap(nil, x) {
			p.killAll()
		}
	}
}

// over measures, and returns the first limit that all processes together exceed.
// All processes together are measured every 50 ms (landlock: 250 ms). The limits of the kernel
// apply to each process in addition.
func (p *program) over(t *table, used *ledger) *excess {
	w := p.spec.Watch
	ticks, written := used.measure(t, p.spec.Namespaces, p.io)
	p.lost.Store(used.lost)
	if w.Processes > 0 && t.threads > w.Processes {
		return &excess{"processes", t.threads}
	}
	if w.Memory > 0 && t.memory > w.Memory {
		return &excess{"memory_mb", t.memory >> 20}
	}
	if w.CPU > 0 && ticks > w.CPU*100 {
		return &excess{"cpu_seconds", ticks / 100}
	}
	if w.Disk > 0 && written > w.Disk {
		return &excess{"disk_mb", written >> 20}
	}
	return p.usage.over(&w, t)
}
