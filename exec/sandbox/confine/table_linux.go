package confine

import (
	"syscall"
	"unsafe"
)

// maxRows bounds the processes of a measurement.
const maxRows = 4096

// table is a measurement of the processes of a program. Reading one allocates nothing:
// the memory of the helper cannot grow under the limits of the program.
type table struct {
	rows [maxRows]row
	n    int

	threads, memory, ticks, written int64

	// Since the previous measurement: the ticks of processes that are gone, and those that
	// the others got from children that they waited for.
	gone, reaped int64
	before       *[maxRows]row // the rows of the previous measurement; nil if they are not compared
	nBefore      int

	dir  [32 << 10]byte
	file [4096]byte
	name [64]byte
}

// row is one process.
type row struct {
	pid, parent    int64
	start          int64 // with pid, the identity of a process
	threads, ticks int64 // with the ticks of children that it waited for
	children       int64 // the ticks of these children
	reaped         int64 // the same, since the previous measurement
	ours           bool
}

// read measures all processes of the namespace but this one, or the descendants of
// this one.
func (t *table) read(namespaces bool) {
	t.n = 0
	t.threads = 0
	t.memory = 0
	t.ticks = 0
	t.written = 0
	self := int64(syscall.Getpid())
	t.list(func(pid int64) {
		if pid == self || t.n == len(t.rows) {
			return
		}
		r := row{pid: pid, ours: namespaces}
		if t.stat(&r) {
			t.rows[t.n] = r
			t.n++
		}
	})
	t.compare()
	if !namespaces {
		t.descendants(self)
	}
	for i := range t.n {
		r := &t.rows[i]
		t.reaped += r.reaped
		t.threads += r.threads
		t.ticks += r.ticks
		t.memory += t.anonymous(r.pid)
		if fd := t.open(r.pid, "/io"); fd >= 0 {
			t.written += t.writtenIn(fd)
			syscall.Close(fd)
		}
	}
	if t.before != nil {
		t.nBefore = copy(t.before[:], t.rows[:t.n])
	}
}

// compare finds the processes of the previous measurement that are gone. The kernel lists
// processes by their numbers.
func (t *table) compare() {
	t.gone = 0
	t.reaped = 0
	if t.before == nil || t.n == len(t.rows) {
		return // some are not listed
	}
	b := t.before[:t.nBefore]
	for i := range t.n {
		r := &t.rows[i]
		for len(b) > 0 && b[0].pid < r.pid {
			t.gone += b[0].ticks
			b = b[1:]
		}
		r.reaped = r.children
		if len(b) > 0 && b[0].pid == r.pid {
			if b[0].start == r.start {
				r.reaped -= b[0].children
			} else {
				t.gone += b[0].ticks
			}
			b = b[1:]
		}
	}
	for _, r := range b {
		t.gone += r.ticks
	}
}

// descendants keeps the rows of processes whose ancestor is self.
func (t *table) descendants(self int64) {
	for more := true; more; {
		more = false
		for i := range t.n {
			r := &t.rows[i]
			if !r.ours && (r.parent == self || t.isOurs(r.parent)) {
				r.ours = true
				more = true
			}
		}
	}
	kept := 0
	for i := range t.n {
		if t.rows[i].ours {
			t.rows[kept] = t.rows[i]
			kept++
		}
	}
	t.n = kept
}

func (t *table) isOurs(pid int64) bool {
	for i := range t.n {
		if t.rows[i].pid == pid {
			return t.rows[i].ours
		}
	}
	return false
}

// list calls fn with each process of /proc.
func (t *table) list(fn func(pid int64)) {
	copy(t.name[:], "/proc\x00")
	fd := t.openName(syscall.O_DIRECTORY)
	if fd < 0 {
		return
	}
	defer syscall.Close(fd)
	_ = numbered(fd, t.dir[:], fn)
}

// numbered calls fn with each entry of a directory whose name is a number.
func numbered(fd int, buf []byte, fn func(int64)) error {
	for {
		n, err := syscall.ReadDirent(fd, buf)
		if err != nil || n <= 0 {
			return err
		}
		for b := buf[:n]; len(b) > 19; { // struct linux_dirent64
			size := *(*uint16)(unsafe.Pointer(&b[16]))
			if number, ok := number(b[19:size]); ok {
				fn(number)
			}
			b = b[size:]
		}
	}
}

// open opens /proc/PID/NAME, and returns -1 if it cannot.
func (t *table) open(pid int64, name string) int {
	t.setName(pid, name)
	return t.openName(0)
}

// setName sets name to /proc/PID/NAME with a NUL.
func (t *table) setName(pid int64, name string) {
	b := append(t.name[:0], "/proc/"...)
	b = appendNumber(b, pid)
	b = append(b, name...)
	copy(t.name[len(b):], "\x00")
}

func (t *table) openName(flags uintptr) int {
	at := atFDCWD
	fd, _, no := syscall.Syscall6(
		syscall.SYS_OPENAT,
		uintptr(at),
		uintptr(unsafe.Pointer(&t.name[0])),
		syscall.O_RDONLY|syscall.O_CLOEXEC|flags,
		0,
		0,
		0,
	)
	if no != 0 {
		return -1
	}
	return int(fd)
}

// content reads a file of /proc.
func (t *table) content(pid int64, name string) []byte {
	fd := t.open(pid, name)
	if fd < 0 {
		return nil
	}
	n, _ := syscall.Read(fd, t.file[:])
	syscall.Close(fd)
	return t.file[:max(n, 0)]
}

// stat fills in a row. A name in it can contain anything but is the last part with
// ")".
func (t *table) stat(r *row) bool {
	b := t.content(r.pid, "/stat")
	i := lastByte(b, ')')
	if i < 0 || i+2 >= len(b) {
		return false
	}
	b = b[i+2:]
	zombie := b[0] == 'Z' || b[0] == 'X'
	for field := 0; len(b) > 0; field++ {
		n, _ := number(b)
		switch field {
		case 1:
			r.parent = n
		case 11, 12, 13, 14: // user and system time of the process and of its children
			r.ticks += n
			if field > 12 {
				r.children += n
			}
		case 17:
			r.threads = n
		case 19:
			r.start = n
		}
		j := firstByte(b, ' ')
		if j < 0 || field > 19 {
			break
		}
		b = b[j+1:]
	}
	if zombie {
		r.threads = max(r.threads, 1)
	}
	return true
}

// anonymous returns the resident memory of a process that it does not share with
// files.
func (t *table) anonymous(pid int64) int64 {
	b := t.content(pid, "/statm")
	var pages [3]int64
	for i := range pages {
		pages[i], _ = number(b)
		j := firstByte(b, ' ')
		if j < 0 {
			return 0
		}
		b = b[j+1:]
	}
	return (pages[1] - pages[2]) * int64(syscall.Getpagesize())
}

// writtenIn returns write_bytes of an open /proc/PID/io.
func (t *table) writtenIn(fd int) int64 {
	n, _ := syscall.Pread(fd, t.file[:], 0)
	const key = "\nwrite_bytes: "
	for b := t.file[:max(n, 0)]; len(b) > len(key); b = b[1:] {
		if string(b[:len(key)]) == key {
			v, _ := number(b[len(key):])
			return v
		}
	}
	return 0
}

// holds reports whether a process has one of the pipes as its stdout or stderr.
func (t *table) holds(pipes [2]uint64) bool {
	for i := range t.n {
		for _, name := range [...]string{"/fd/1", "/fd/2"} {
			t.setName(t.rows[i].pid, name)
			at := atFDCWD
			n, _, no := syscall.Syscall6(
				syscall.SYS_READLINKAT,
				uintptr(at),
				uintptr(unsafe.Pointer(&t.name[0])),
				uintptr(unsafe.Pointer(&t.file[0])),
				uintptr(len(t.file)),
				0,
				0,
			)
			if no != 0 || n < 6 || string(t.file[:6]) != "pipe:[" {
				continue
			}
			ino, ok := number(t.file[6:n])
			if ok && (uint64(ino) == pipes[0] || uint64(ino) == pipes[1]) {
				return true
			}
		}
	}
	return false
}

func firstByte(b []byte, c byte) int {
	for i := range b {
		if b[i] == c {
			return i
		}
	}
	return -1
}

func lastByte(b []byte, c byte) int {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == c {
			return i
		}
	}
	return -1
}

// number reads decimal digits, and reports whether there is one.
func number(b []byte) (n int64, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int64(c-'0')
		ok = true
	}
	return n, ok
}

func appendNumber(b []byte, n int64) []byte {
	if n >= 10 {
		b = appendNumber(b, n/10)
	}
	return append(b, byte('0'+n%10))
}
