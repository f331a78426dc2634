package primary

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
)

// conflict is what an unfinished merge left in a file.
type conflict struct {
	lines []int // numbers of the lines with markers
	// rest is the file without its first conflict if that contains signature lines
	// only, which are in signatures.
	rest       []byte
	signatures [][]byte
}

// conflictOf returns the conflict markers of a file, nil if it has not all three of
// one conflict, in order. Text about git may contain single ones.
func conflictOf(b []byte) *conflict {
	if !bytes.Contains(b, []byte("<<<<<<<")) ||
		!bytes.Contains(b, []byte(">>>>>>>")) {
		return nil
	}
	var c conflict
	var open []int
	only := true // the conflict has only lines that look like signatures
	start := 0
	number := 0
	offset := 0
	var signatures [][]byte
	for line := range bytes.Lines(b) {
		number++
		switch m := lock.ConflictMarker(string(line)); {
		case m == '<':
			open = []int{number}
			only = true
			signatures = nil
			start = offset
		case len(open) > 0 && (m == '=' || m == '|'):
			open = append(open, number)
		case m == '>' && len(open) > 1:
			open = append(open, number)
			if c.lines == nil &&
				only &&
				len(signatures) > 0 &&
				atSignature(b[:start]) {
				c.rest = slices.Concat(b[:start], b[offset+len(line):])
				c.signatures = signatures
			}
			c.lines = append(c.lines, open...)
			open = nil
		case sign.LooksSigned(line):
			signatures = append(signatures, line)
		default:
			only = false
		}
		offset += len(line)
	}
	if c.lines == nil {
		return nil
	}
	return &c
}

// atSignature reports whether the signature line is the next one after head.
func atSignature(head []byte) bool {
	return len(head) == 0 ||
		bytes.HasPrefix(head, []byte("#!")) && bytes.Count(head, []byte("\n")) == 1
}

// settled returns the item without a conflict of signature lines: every version of
// the file has one, so a merge of both is signed again. A conflict in its text is a
// finding.
func (v *Verbs) settled(it *resolve.Item) (*resolve.Item, []diag.Finding) {
	c := conflictOf(it.Bytes)
	if c == nil {
		return it, nil
	}
	if c.rest != nil && conflictOf(c.rest) == nil {
		return v.p.Resolver.WithBytes(it, c.rest), nil
	}
	numbers := make([]string, len(c.lines))
	for i, n := range c.lines {
		numbers[i] = strconv.Itoa(n)
	}
	f := diag.Errorf(
		diag.ParsingError,
		c.lines[0],
		1,
		"the merge is not finished: git's conflict markers are on lines %s",
		strings.Join(numbers, ", "),
	)
	f.Path = it.Path()
	return it, []diag.Finding{f.WithReason("conflict_markers")}
}

// mergedByOwn reports whether all signature lines in a conflict are by the user's
// own keys. It is true without a conflict.
func (v *Verbs) mergedByOwn(it *resolve.Item, signer sign.Fingerprint) bool {
	c := conflictOf(it.Bytes)
	if c == nil {
		return true
	}
	return !slices.ContainsFunc(c.signatures, func(line []byte) bool {
		l, err := sign.ParseLine(line, it.Type.Style)
		return err != nil || v.owner(l.Key, signer) != OwnSigner
	})
}
