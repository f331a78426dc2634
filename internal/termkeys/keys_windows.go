package termkeys

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Terminal reads keys until it is closed.
type Terminal struct {
	in     windows.Handle
	before uint32
	high   rune // the first half of a character of two
	hangup chan os.Signal
	once   sync.Once
	gone   bool
}

// Open begins to read keys from a console. What was typed before is discarded.
func Open(f *os.File) (*Terminal, error) {
	t := &Terminal{in: windows.Handle(f.Fd()), hangup: make(chan os.Signal, 1)}
	if err := windows.GetConsoleMode(t.in, &t.before); err != nil {
		return nil, err
	}
	mode := t.before &^ (windows.ENABLE_LINE_INPUT | windows.ENABLE_ECHO_INPUT | windows.ENABLE_VIRTUAL_TERMINAL_INPUT)
	if err := windows.SetConsoleMode(t.in, mode); err != nil {
		return nil, err
	}
	signal.Notify(t.hangup, syscall.SIGTERM) // the console is closed
	t.Discard()
	return t, nil
}

// Close restores the console. After ErrClosed a console that is closed does not end the process at
// once, which still has to record the open question.
func (t *Terminal) Close() {
	t.once.Do(func() {
		_ = windows.SetConsoleMode(t.in, t.before)
		if !t.gone {
			signal.Stop(t.hangup)
		}
	})
}

// Discard drops what was typed and not read.
func (t *Terminal) Discard() { t.high, _ = 0, windows.FlushConsoleInputBuffer(t.in) }

// record is an INPUT_RECORD with a KEY_EVENT_RECORD.
type record struct {
	kind    uint16
	_       uint16
	down    int32
	repeat  uint16
	code    uint16
	scan    uint16
	char    uint16
	control uint32
}

const (
	keyEvent   = 1
	leftAlt    = 0x0002
	lookMillis = 100
)

var readConsoleInput = windows.NewLazySystemDLL("kernel32.dll").NewProc("ReadConsoleInputW")

// Read returns the keys that were typed together. The error is ctx.Err() if ctx ends first, or
// ErrClosed.
func (t *Terminal) Read(ctx context.Context) ([]Key, error) {
	for {
		select {
		case <-t.hangup:
			t.gone = true
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		default:
		}
		event, err := windows.WaitForSingleObject(t.in, lookMillis)
		switch {
		case err != nil:
			return nil, ErrClosed
		case event == uint32(windows.WAIT_TIMEOUT):
			continue
		}
		var list [64]record
		var n uint32
		ok, _, _ := readConsoleInput.Call(uintptr(t.in), uintptr(unsafe.Pointer(&list[0])), uintptr(len(list)), uintptr(unsafe.Pointer(&n)))
		if ok == 0 {
			return nil, ErrClosed
		}
		if keys := t.keys(list[:n]); len(keys) > 0 {
			return keys, nil
		}
	}
}

// keys returns the keys of events. A key that only changes others, such as Shift, is not one.
func (t *Terminal) keys(list []record) (out []Key) {
	for i := range list {
		r := &list[i]
		if r.kind != keyEvent || r.down == 0 {
			continue
		}
		switch c := rune(r.char); {
		case c == 0 && (r.code >= 0x10 && r.code <= 0x14 || r.code == 0x5b || r.code == 0x5c || r.code == 0x90 || r.code == 0x91):
		case c == 0 || r.control&leftAlt != 0:
			out = append(out, Other)
		case c == '\r':
			out = append(out, Enter)
		case c == '\b':
			out = append(out, Backspace)
		case c == 0x1a: // Ctrl-Z ends the input here
			out = append(out, End)
		case utf16.IsSurrogate(c) && t.high == 0:
			t.high = c
		case utf16.IsSurrogate(c):
			out = append(out, Key(utf16.DecodeRune(t.high, c)))
			t.high = 0
		default:
			out = append(out, Key(c))
		}
	}
	return out
}
