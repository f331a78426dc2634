package gitpack

import (
	"bufio"
	"io"
)

// readSize reads a size at the beginning of a delta.
func readSize(r *bufio.Reader) (n int64, err error) {
	for shift := 0; ; shift += 7 {
		c, err := r.ReadByte()
		if err != nil {
			return 0, ended(err)
		}
		if shift > 56 {
			return 0, broken("a delta has an impossible size")
		}
		n |= int64(c&0x7f) << shift
		if c&0x80 == 0 {
			return n, nil
		}
	}
}

// apply appends to out the object that a delta makes of its base. The instructions are
// streamed: a delta of any length takes no memory. The result has size bytes, which
// the caller has compared with a limit.
func apply(out, base []byte, size int64, r *bufio.Reader) ([]byte, error) {
	for {
		op, err := r.ReadByte()
		if err == io.EOF {
			if int64(len(out)) != size {
				return nil, broken("a delta makes %d bytes, not %d", len(out), size)
			}
			return out, nil
		}
		if err != nil {
			return nil, ended(err)
		}
		var from, n int64
		switch {
		case op == 0:
			return nil, broken("a delta has an unknown instruction")
		case op&0x80 == 0:
			n = int64(op)
		default:
			if from, n, err = readCopy(r, op); err != nil {
				return nil, err
			}
			if from+n > int64(len(base)) {
				return nil, broken("a delta copies bytes that its base does not have")
			}
		}
		if int64(len(out))+n > size {
			return nil, broken("a delta makes more than %d bytes", size)
		}
		if op&0x80 != 0 {
			out = append(out, base[from:from+n]...)
			continue
		}
		at := len(out)
		out = out[:at+int(n)] // the capacity is size
		if _, err := io.ReadFull(r, out[at:]); err != nil {
			return nil, ended(err)
		}
	}
}

// readCopy reads the arguments of a copy instruction.
func readCopy(r *bufio.Reader, op byte) (from, n int64, err error) {
	var b [7]byte
	for i := range b {
		if op&(1<<i) != 0 {
			if b[i], err = r.ReadByte(); err != nil {
				return 0, 0, ended(err)
			}
		}
	}
	from = int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16 | int64(b[3])<<24
	n = int64(b[4]) | int64(b[5])<<8 | int64(b[6])<<16
	if n == 0 {
		n = 0x10000
	}
	return from, n, nil
}
