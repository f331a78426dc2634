package confine

import "syscall"

// ledger sums up what a program used, with the processes that no other one waited for: the
// kernel forgets what they used when they end. It knows what they had used at the last
// measurement before.
type ledger struct {
	ended int64 // ticks of children of the helper that it waited for, before the last measurement
	owed  int64 // ticks of processes that are gone; a process that was read before it waited for them gets them by the next measurement
	lost  int64 // ticks that no process got

	written     int64 // the highest measurement of bytes written
	lower       bool  // the last measurement was lower
	lostWritten int64
}

// ticksOfEnded returns the processor time of the children that the helper waited for, in
// hundredths of a second as in /proc.
func ticksOfEnded() int64 {
	var ru syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ru)
	return microseconds(ru.Utime)/10_000 + microseconds(ru.Stime)/10_000
}

// measure reads the processes into t. Afterwards ticks and written are the totals of the run
// until now.
func (l *ledger) measure(t *table, namespaces bool, io int) (ticks, written int64) {
	ended := ticksOfEnded()
	t.read(namespaces)
	// What ended before the table was read is in the second value.
	l.account(t.gone - t.reaped - (ticksOfEnded() - l.ended))
	l.ended = ended
	written = t.written
	if io >= 0 {
		written += t.writtenIn(io)
	}
	return t.ticks + ended + l.lost, l.wrote(written)
}

// account takes the ticks of the processes that are gone, less those that others got.
func (l *ledger) account(missing int64) {
	if missing < 0 {
		l.lost += max(0, l.owed+missing)
		l.owed = 0
		return
	}
	l.lost += l.owed
	l.owed = missing
}

// wrote takes the bytes that all processes and the ended ones wrote. A value that is lower
// than before lacks processes that no other one waited for, if the next one is lower too.
func (l *ledger) wrote(n int64) int64 {
	switch {
	case n >= l.written:
		l.written = n
		l.lower = false
	case l.lower:
		l.lostWritten += l.written - n
		l.written = n
		l.lower = false
	default:
		l.lower = true
	}
	return l.written + l.lostWritten
}
