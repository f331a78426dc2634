package git

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Limits of a list of refs. A list may also have refs that rye ignores, such as those
// of pull requests, of which hosts have hundreds of thousands.
const (
	maxAdvert = 64 << 20 // bytes
	maxRefs   = 250_000  // branches and tags
)

// capabilities are what a remote can do.
type capabilities []string

func (c capabilities) has(name string) bool { return slices.Contains(c, name) }

// advert is the response to the question for refs in version 0 of the protocol.
type advert struct {
	refs Refs
	caps capabilities
}

// refsError is the error for too many refs.
var errRefs = fmt.Errorf("it lists more than %d branches and tags", maxRefs)

// readAdvert reads a list of refs. It keeps branches and tags only.
func readAdvert(r io.Reader) (*advert, error) {
	l := newLines(r)
	line, err := l.next()
	if err != nil {
		return nil, err
	}
	if textOf(line) != "# service=git-upload-pack" {
		return nil, errLine
	}
	if line, err = l.next(); err != nil || line != nil {
		return nil, firstOf(err, errLine)
	}
	a := &advert{}
	for first := true; ; first = false {
		if line, err = l.next(); err != nil {
			return nil, err
		}
		if line == nil {
			a.refs.sort()
			return a, nil
		}
		text := textOf(line)
		if first {
			text = a.first(text)
		}
		if err := a.refs.add(text); err != nil {
			return nil, err
		}
	}
}

func firstOf(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// first takes the capabilities off the first line.
func (a *advert) first(text string) string {
	text, caps, _ := strings.Cut(text, "\x00")
	a.caps = strings.Fields(caps)
	a.refs.SHA256 = a.caps.has("object-format=sha256")
	return text
}

// add reads one "OID NAME" of a list.
func (r *Refs) add(text string) error {
	oid, name, ok := strings.Cut(text, " ")
	if oid == "shallow" {
		return nil
	}
	if !ok || !isOID(oid) || name == "" {
		return fmt.Errorf("%w: %.100q is not a ref", errLine, text)
	}
	return r.keep(oid, name)
}

// keep adds a branch or tag, the commit of the tag before it, or the default branch.
func (r *Refs) keep(oid, name string) error {
	tag, peeled := strings.CutSuffix(name, "^{}")
	switch last := len(r.List) - 1; {
	case name == "HEAD":
		r.Head = strings.Clone(oid)
	case !carriedRef(name):
	case peeled && last >= 0 && r.List[last].Name == tag:
		r.List[last].Commit = strings.Clone(oid)
	case !peeled && len(r.List) == maxRefs:
		return errRefs
	case !peeled:
		oid = strings.Clone(oid) // not the whole line
		r.List = append(r.List, Ref{Name: strings.Clone(name), OID: oid, Commit: oid})
	}
	return nil
}
