package git

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
)

// localRefs are the branches and tags of a repository on this machine.
type localRefs struct {
	head string // the commit of the default branch, "" if it has none
	refs map[string]localRef
}

type localRef struct {
	oid    string
	peeled string // the commit of an annotated tag, "" if the files do not record it
}

// readLocalRefs reads the files of single refs, then packed-refs: in this order no ref
// is missed while git packs them. It skips symbolic refs other than HEAD: their
// targets are listed.
func readLocalRefs(dir string) (*localRefs, error) {
	l := &localRefs{refs: map[string]localRef{}}
	for _, folder := range []string{"refs/heads", "refs/tags"} {
		if err := l.loose(dir, folder); err != nil {
			return nil, err
		}
	}
	err := l.packed(filepath.Join(dir, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	maps.DeleteFunc(l.refs, func(_ string, r localRef) bool {
		return r.oid == ""
	})
	b, err := openat.ReadRegular(filepath.Join(dir, "HEAD"), maxSmallFile)
	if err != nil {
		return nil, err
	}
	head := strings.TrimSpace(string(b))
	if name, symbolic := strings.CutPrefix(head, "ref: "); symbolic {
		head = l.refs[name].oid
	}
	if l.head = head; head != "" && !isOID(head) {
		return nil, fmt.Errorf("HEAD has %.100q: %w", head, errUnsupported)
	}
	return l, nil
}

// packed reads "OID NAME" lines. A line "^OID" has the commit of the tag before it.
func (l *localRefs) packed(path string) error {
	f, err := openat.OpenRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || fi.Size() > maxAdvert {
		return errors.Join(err, diag.New(diag.TooLarge, "reading %q: the file is larger than %d bytes", path, maxAdvert))
	}
	lines := bufio.NewScanner(io.LimitReader(f, maxAdvert))
	last := "" // the ref of the line before, "" if it was skipped
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), "\r")
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
			return fmt.Errorf("packed-refs has the line %.100q: %w", line, errUnsupported)
		}
		last = ""
		if len(l.refs) > maxRefs {
			return errRefs
		}
		if _, over := l.refs[name]; !over && carriedRef(name) {
			l.refs[name], last = localRef{oid: oid}, name
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("packed-refs: %w: %w", err, errUnsupported)
	}
	return nil
}

func (l *localRefs) loose(dir, folder string) error {
	return filepath.WalkDir(filepath.Join(dir, filepath.FromSlash(folder)), func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // git packed or removed it meanwhile
		}
		if err != nil || d.IsDir() || strings.HasSuffix(p, ".lock") {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		b, err := openat.ReadRegular(p, maxSmallFile)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		text := strings.TrimSpace(string(b))
		switch {
		case strings.HasPrefix(text, "ref: "):
			l.refs[name] = localRef{} // over a packed one
		case !isOID(text):
			return fmt.Errorf("the ref %s has %.100q: %w", name, text, errUnsupported)
		default:
			l.refs[name] = localRef{oid: text}
		}
		return nil
	})
}
