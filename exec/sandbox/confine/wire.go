package confine

import (
	"errors"
	"math"
	"syscall"
)

// Protocol is the version of what the two processes send each other. They are the same
// executable, unless it was replaced while a process of rye runs: that is refused. A
// change of a type in this package, or of what the helper does with it, increments it.
//
// The form is binary, because a reader of JSON needs reflect. A rye that was replaced while it
// runs is SANDBOX_UNAVAILABLE.
const Protocol = 3

const (
	magic    = "rye sandbox\x00"
	greeting = "rye helper\x00"
	asking   = "rye start\x00"
	answer   = "rye started\x00"
)

// VersionStep is the step of a Failure of two versions that met.
const VersionStep = "version"

// SignalStep is the step of a Failure of a helper that a signal ended before it started
// the program.
const SignalStep = "signal"

// ErrProtocol states that the other process is another version of rye.
var ErrProtocol = errors.New("another version of rye")

// ErrOtherRequest states that an answer is not that to the request.
var ErrOtherRequest = errors.New("the answer to another request")

var errTruncated = errors.New("the message is not complete")

// AppendSpec appends a Spec in the form that ParseSpec reads.
func AppendSpec(b []byte, s *Spec) []byte {
	w := writer{append(b, magic...)}
	w.num(Protocol)
	w.flag(s.Namespaces)
	w.num(uint64(len(s.Mounts)))
	for _, m := range s.Mounts {
		w.text(string(m.Do))
		w.text(m.Dst)
		w.text(m.Src)
		w.num(uint64(m.Size))
		w.nums(
			uint64(m.Mode),
			m.In.Device,
			m.In.Inode,
			m.Is.Device,
			m.Is.Inode,
		)
	}
	w.flag(s.Loopback)
	w.num(uint64(s.Listen))
	w.flag(s.Landlock != nil)
	if r := s.Landlock; r != nil {
		w.nums(
			uint64(r.ABI),
			r.FS,
			r.Net,
			r.Scoped,
			uint64(len(r.Rules)),
		)
		for _, rule := range r.Rules {
			w.text(rule.Path)
			w.num(rule.Access)
		}
	}
	w.num(uint64(len(s.Rlimits)))
	for _, l := range s.Rlimits {
		w.nums(uint64(l.Resource), l.Soft, l.Hard)
		w.flag(l.Own)
		w.flag(l.Child)
	}
	w.num(uint64(len(s.Filter)))
	w.nums(s.Filter...)
	w.nums(
		uint64(s.Watch.Every),
		uint64(s.Watch.CPU),
		uint64(s.Watch.Memory),
		uint64(s.Watch.Processes),
		uint64(s.Watch.Disk),
		uint64(s.Watch.Files),
	)
	w.texts(s.Watch.Roots)
	w.text(s.Path)
	w.texts(s.Argv)
	w.texts(s.Env)
	w.text(s.Dir)
	w.nums(uint64(s.Files), uint64(s.Linger), uint64(s.Grace))
	return w.b
}

// ParseSpec reads a Spec. Its error is ErrProtocol if another version wrote it.
func ParseSpec(b []byte) (*Spec, error) {
	r := reader{b: b}
	if !r.prefix(magic) || r.num() != Protocol {
		return nil, ErrProtocol
	}
	s := &Spec{Namespaces: r.flag()}
	for range r.count() {
		s.Mounts = append(s.Mounts, Step{
			Do:   Op(r.text()),
			Dst:  r.text(),
			Src:  r.text(),
			Size: int64(r.num()),
			Mode: uint32(r.num()),
			In:   Dir{r.num(), r.num()},
			Is:   Dir{r.num(), r.num()},
		})
	}
	s.Loopback, s.Listen = r.flag(), int(r.num())
	if r.flag() {
		s.Landlock = &Ruleset{
			ABI:    int(r.num()),
			FS:     r.num(),
			Net:    r.num(),
			Scoped: r.num(),
		}
		for range r.count() {
			s.Landlock.Rules = append(s.Landlock.Rules, Rule{Path: r.text(), Access: r.num()})
		}
	}
	for range r.count() {
		s.Rlimits = append(s.Rlimits, Rlimit{
			Resource: int(r.num()),
			Soft:     r.num(),
			Hard:     r.num(),
			Own:      r.flag(),
			Child:    r.flag(),
		})
	}
	for range r.count() {
		s.Filter = append(s.Filter, r.num())
	}
	s.Watch = Watch{
		Every:     int64(r.num()),
		CPU:       int64(r.num()),
		Memory:    int64(r.num()),
		Processes: int64(r.num()),
		Disk:      int64(r.num()),
		Files:     int64(r.num()),
		Roots:     r.texts(),
	}
	s.Path, s.Argv, s.Env, s.Dir = r.text(), r.texts(), r.texts(), r.text()
	s.Files, s.Linger, s.Grace = int(r.num()), int64(r.num()), int64(r.num())
	if r.bad || len(r.b) > 0 {
		return nil, errTruncated
	}
	return s, nil
}

// AppendStart appends a Start in the form that ParseStart reads.
func AppendStart(b []byte, s *Start) []byte {
	w := writer{append(b, asking...)}
	w.nums(Protocol, s.Number)
	w.text(s.Path)
	w.nums(
		s.Flags,
		uint64(s.UID),
		uint64(s.GID),
		uint64(len(s.Caps)),
	)
	w.nums(s.Caps...)
	return w.b
}

// ParseStart reads a Start. Its error is ErrProtocol if another version wrote it.
func ParseStart(b []byte) (*Start, error) {
	r := reader{b: b}
	if !r.prefix(asking) || r.num() != Protocol {
		return nil, ErrProtocol
	}
	s := &Start{
		Number: r.num(),
		Path:   r.text(),
		Flags:  r.num(),
		UID:    int(r.num()),
		GID:    int(r.num()),
	}
	for range r.count() {
		s.Caps = append(s.Caps, r.num())
	}
	if r.bad || len(r.b) > 0 {
		return nil, errTruncated
	}
	return s, nil
}

// AppendStarted appends the answer to a request in the form that ParseStarted reads.
func AppendStarted(b []byte, number uint64, pid int, errno syscall.Errno) []byte {
	w := writer{append(b, answer...)}
	w.nums(Protocol, number, uint64(pid), uint64(errno))
	return w.b
}

// ParseStarted reads the answer of the starter to a request: the process, or why there is
// none. Its error is ErrOtherRequest if it answers a different request.
func ParseStarted(b []byte, number uint64) (pid int, err error) {
	r := reader{b: b}
	if !r.prefix(answer) || r.num() != Protocol {
		return 0, ErrProtocol
	}
	other := r.num() != number
	pid = int(r.num())
	no := syscall.Errno(r.num())
	switch {
	case other:
		return 0, ErrOtherRequest
	case r.bad || len(r.b) > 0 || no == 0 && (pid <= 1 || pid > math.MaxInt32):
		return 0, errTruncated
	case no != 0:
		return 0, no
	}
	return pid, nil
}

// The first byte of a message.
const (
	saysStarting  = 'S'
	saysFailure   = 'F'
	saysListening = 'L'
	saysExited    = 'X'
	saysEnd       = 'E'
)

// AppendMessage appends a Message in the form that ParseMessage reads.
func AppendMessage(b []byte, m Message) []byte {
	w := writer{append(b, greeting...)}
	w.num(Protocol)
	switch {
	case m.Failure != nil:
		w.num(saysFailure)
		w.text(m.Failure.Step)
		w.text(m.Failure.What)
		w.num(uint64(m.Failure.Errno))
	case m.End != nil:
		w.num(saysEnd)
		e := m.End
		w.nums(
			uint64(e.Code),
			uint64(e.Signal),
			uint64(e.MaxRSS),
			uint64(e.CPU),
		)
		w.text(e.Exceeded)
		w.num(uint64(e.Measured))
	case m.Starting:
		w.num(saysStarting)
	case m.Listening:
		w.num(saysListening)
	default:
		w.num(saysExited)
	}
	return w.b
}

// ParseMessage reads the first Message of b and returns the bytes that follow it. Its error is
// ErrProtocol if another version wrote it.
func ParseMessage(b []byte) (m Message, rest []byte, err error) {
	r := reader{b: b}
	if !r.prefix(greeting) || r.num() != Protocol {
		return m, nil, ErrProtocol
	}
	switch r.num() {
	case saysFailure:
		m.Failure = &Failure{Step: r.text(), What: r.text(), Errno: int(r.num())}
	case saysEnd:
		m.End = &End{
			Code:     int(r.num()),
			Signal:   int(r.num()),
			MaxRSS:   int64(r.num()),
			CPU:      int64(r.num()),
			Exceeded: r.text(),
			Measured: int64(r.num()),
		}
	case saysStarting:
		m.Starting = true
	case saysListening:
		m.Listening = true
	case saysExited:
		m.Exited = true
	default:
		r.bad = true
	}
	if r.bad {
		return Message{}, nil, errTruncated
	}
	return m, r.b, nil
}

// writer appends numbers in groups of seven bits, the lowest first, and texts with their
// length.
type writer struct{ b []byte }

func (w *writer) num(n uint64) {
	for ; n >= 0x80; n >>= 7 {
		w.b = append(w.b, byte(n)|0x80)
	}
	w.b = append(w.b, byte(n))
}

func (w *writer) nums(list ...uint64) {
	for _, n := range list {
		w.num(n)
	}
}

func (w *writer) flag(yes bool) {
	if yes {
		w.num(1)
	} else {
		w.num(0)
	}
}

func (w *writer) text(s string) {
	w.num(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *writer) texts(list []string) {
	w.num(uint64(len(list)))
	for _, s := range list {
		w.text(s)
	}
}

// reader reads what writer writes. After the end, everything is zero and bad is set.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) prefix(s string) bool {
	if len(r.b) < len(s) ||
		string(r.b[:len(s)]) != s {
		return false
	}
	r.b = r.b[len(s):]
	return true
}

func (r *reader) num() (n uint64) {
	for shift := 0; shift < 70 && len(r.b) > 0; shift += 7 {
		c := r.b[0]
		r.b = r.b[1:]
		if n |= uint64(c&0x7f) << shift; c < 0x80 {
			return n
		}
	}
	r.b = nil
	r.bad = true
	return 0
}

// count reads the length of a list. Each element has a byte at least.
func (r *reader) count() int {
	n := r.num()
	if n > uint64(len(r.b)) {
		r.b = nil
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *reader) flag() bool {
	return r.num() != 0
}

func (r *reader) text() string {
	n := r.count()
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) texts() []string {
	var list []string
	for range r.count() {
		list = append(list, r.text())
	}
	return list
}
