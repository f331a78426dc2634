// Package termkeys reads single keys at a terminal. While one is open, keys are not echoed and
// need no Enter; output and the keys that send signals work as before. HideTyped only stops the
// echo, and ReadHidden reads a line without it.
//
// It draws nothing, edits no lines and knows no questions. It does not change a terminal that
// another process of the same session uses at the same time.
package termkeys

import (
	"errors"
	"unicode/utf8"
)

// Key is a key: its character, or one of the names below.
type Key rune

// The keys without a character of their own.
const (
	Other     Key = -1 // an arrow, a function key, or a key with Alt
	End       Key = 0x04
	Enter     Key = '\n'
	Escape    Key = 0x1b
	Backspace Key = 0x7f
	EraseLine Key = 0x15
	EraseWord Key = 0x17
)

// ErrClosed means that the terminal is closed, or that its input has ended.
var ErrClosed = errors.New("the terminal is closed")

// decode returns the keys of what a terminal sent. rest is the beginning of one that is not
// complete; an escape character at the end is one, because a sequence may follow.
func decode(b []byte) (keys []Key, rest []byte) {
	for len(b) > 0 {
		n := 1
		key := Key(b[0])
		switch {
		case b[0] == 0x1b:
			if n = sequence(b); n == 0 {
				return keys, b
			}
			key = Other
		case b[0] == '\r':
			key = Enter
		case b[0] == '\b':
			key = Backspace
		case b[0] >= utf8.RuneSelf:
			if !utf8.FullRune(b) {
				return keys, b
			}
			var r rune
			r, n = utf8.DecodeRune(b)
			key = Key(r)
		}
		keys = append(keys, key)
		b = b[n:]
	}
	return keys, nil
}

// sequence returns the length of an escape sequence, 0 if it is not complete.
func sequence(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if b[1] != '[' && b[1] != 'O' {
		if b[1] == 0x1b { // Escape, twice
			return 1
		}
		return 2 // a key with Alt
	}
	for i := 2; i < len(b); i++ {
		if b[i] >= 0x40 && b[i] <= 0x7e {
			return i + 1
		}
	}
	return 0
}
