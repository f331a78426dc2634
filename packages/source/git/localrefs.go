package git

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// localRefs is what the files of a repository on this machine say of its
// branches and tags.
type localRefs struct {
	head string // the commit of the default branch, "" when there is none
	refs map[string]localRef
}

type localRef struct {
	oid    string
	peeled string // what an annotated tag holds in the end, "" when nobody wrote it down
}

// readLocalRefs reads the files of single refs, then the packed ones below them:
// in this order none is missed while git packs. Symbolic refs other than HEAD are
// left out: what they name is there under its own name.
func readLocalRefs(dir string) (*localRefs, error) {
	l := &localRefs{refs: map[string]localRef{}}
	for _, folder := range []string{"refs/heads", "refs/tags"} {
		if err := l.loose(dir, folder); err != nil {
			return nil, err
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "packed-refs"))
	if err == nil {
		err = l.packed(string(b))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	maps.DeleteFunc(l.refs, func(_ string, r localRef) bool { return r.oid == "" })
	if b, err = os.ReadFile(filepath.Join(dir, "HEAD")); err != nil {
		return nil, err
	}
	head := strings.TrimSpace(string(b))
	if name, symbolic := strings.CutPrefix(head, "ref: "); symbolic {
		head = l.refs[name].oid
	}
	if l.head = head; head != "" && !isOID(head) {
		return nil, fmt.Errorf("HEAD holds %q: %w", head, errUnsupported)
	}
	return l, nil
}

// packed reads "OID NAME" lines; a line "^OID" says what the tag before holds.
func (l *localRefs) packed(text string) error {
	last := "" // the ref before, when its line counts
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		if oid, peeled := strings.CutPrefix(line, "^"); peeled {
			if last != "" && isOID(oid) {
				l.refs[last] = localRef{l.refs[last].oid, oid}
			}
			continue
		}
		oid, name, ok := strings.Cut(line, " ")
		if !ok || !isOID(oid) {
			return fmt.Errorf("packed-refs holds the line %q: %w", line, errUnsupported)
		}
		last = ""
		if _, over := l.refs[name]; !over && carriedRef(name) {
			l.refs[name], last = localRef{oid: oid}, name
		}
	}
	return nil
}

func (l *localRefs) loose(dir, folder string) error {
	return filepath.WalkDir(filepath.Join(dir, filepath.FromSlash(folder)), func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // git has just packed or removed it
		}
		if err != nil || d.IsDir() || strings.HasSuffix(p, ".lock") {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(p)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, text := filepath.ToSlash(rel), strings.TrimSpace(string(b))
		switch {
		case strings.HasPrefix(text, "ref: "):
			l.refs[name] = localRef{} // over a packed one
		case !isOID(text):
			return fmt.Errorf("the ref %s holds %q: %w", name, text, errUnsupported)
		default:
			l.refs[name] = localRef{oid: text}
		}
		return nil
	})
}
