// Package credentials finds the keys of services by the names of their variables, and
// keeps those that the user stores: in a file of the user's configuration that no other
// user can read.
//
// It sends nothing, and does not know which service a key is for.
package credentials

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/owner"
	"github.com/ryeos/rye/internal/redact"
	"github.com/ryeos/rye/internal/tomlx"
	"github.com/ryeos/rye/internal/tree"
)

// File is the file with the stored keys, in the user's configuration directory.
const File = "credentials.toml"

const (
	lockFile = "credentials.lock"
	lockWait = 10 * time.Second
)

// maxFile bounds the file in bytes.
const maxFile = 1 << 20

// maxValue bounds a key in bytes: it must fit into a header.
const maxValue = 16 << 10

// The sources of a key.
const (
	FromEnvironment = "environment"
	FromFile        = File
)

// Keys finds and stores keys. The zero value finds none.
type Keys struct {
	Getenv func(string) string
	Dir    string // the user's configuration directory; "" stores nothing
}

// Key is a key that was found.
type Key struct {
	Name, Source string
	Value        string
}

// name is what variables are called.
var name = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
})

// IsName reports whether a text can be the name of a key.
func IsName(s string) bool {
	return name().MatchString(s)
}

// Find returns the value of each name that has one, from the environment or else from
// the file. A value may be too short to be hidden in logs: see Short.
func (k Keys) Find(names ...string) (map[string]Key, error) {
	out := map[string]Key{}
	var missing []string
	for _, n := range names {
		if k.Getenv != nil && k.Getenv(n) != "" {
			out[n] = Key{n, FromEnvironment, k.Getenv(n)}
			continue
		}
		missing = append(missing, n)
	}
	if len(missing) > 0 {
		stored, err := k.read()
		if err != nil {
			return nil, err
		}
		for _, n := range missing {
			if v, ok := stored[n]; ok {
				out[n] = Key{n, FromFile, v}
			}
		}
	}
	return out, nil
}

// Stored returns the names of the stored keys.
func (k Keys) Stored() ([]string, error) {
	m, err := k.read()
	return slices.Sorted(maps.Keys(m)), err
}

// Store stores a key, in place of an earlier one.
func (k Keys) Store(ctx context.Context, n, value string) error {
	if err := checkValue(value); err != nil {
		return diag.New(diag.ValidationFailed, "storing the key %s: %w", n, err)
	}
	return k.change(ctx, func(m map[string]string) {
		m[n] = value
	})
}

// Remove removes a key. existed is false if it was not stored.
func (k Keys) Remove(ctx context.Context, n string) (existed bool, err error) {
	m, err := k.read()
	if err != nil {
		return false, err
	}
	if _, existed = m[n]; !existed {
		return false, nil
	}
	return true, k.change(ctx, func(m map[string]string) {
		delete(m, n)
	})
}

func checkValue(v string) error {
	if v == "" {
		return errors.New("it is empty")
	}
	if strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return errors.New("it contains a space or a control character")
	}
	if len(v) > maxValue {
		return fmt.Errorf("it has %d bytes, at most %d fit into a header", len(v), maxValue)
	}
	return nil
}

// Short reports whether a value is too short to be a secret: a dummy such as "noop", for
// a service of this machine that takes any key. Logs show it, because it is part of many
// words.
func Short(value string) bool {
	return len(value) < redact.Min
}

func (k Keys) path() string {
	return filepath.Join(k.Dir, File)
}

// read returns the stored keys. A file that other users can read is an error:
// they may know what is in it.
func (k Keys) read() (map[string]string, error) {
	if k.Dir == "" {
		return nil, nil
	}
	fi, err := os.Stat(k.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading the stored keys: %w", err)
	}
	if err := k.private(fi); err != nil {
		return nil, err
	}
	b, err := openat.ReadRegular(k.path(), maxFile)
	if err != nil {
		return nil, diag.Doing("reading the stored keys", err)
	}
	return parse(b, k.path())
}

func (k Keys) private(fi fs.FileInfo) error {
	why := ""
	if uid := owner.Other(fi, ""); uid != "" {
		why = "belongs to " + owner.Name(uid)
	} else if mode := fi.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		why = fmt.Sprintf("can be read or written by other users (mode %04o)", mode)
	}
	if why == "" {
		return nil
	}
	return diag.New(diag.ConfigError, "reading the stored keys: %s %s", k.path(), why).
		WithReason("credentials_mode").
		WithDetail("path", k.path())
}

// parse reads the section keys. Messages have positions and names, never values.
func parse(b []byte, path string) (map[string]string, error) {
	doc, found := tomlx.Parse(b)
	if diag.Failed(found) {
		at := found[0]
		return nil, diag.New(diag.ConfigError, "reading the stored keys: %s:%d:%d is not valid TOML", path, at.Line, at.Column).
			WithDetail("path", path)
	}
	r := tree.NewReader(doc, diag.ConfigError)
	r.Only("keys")
	keys := r.Map("keys")
	out := map[string]string{}
	for _, n := range keys.Keys() {
		v, text := keys.Value(n).(string)
		switch {
		case !IsName(n):
			keys.Reject(n, "is not the name of a variable")
		case !text:
			keys.Reject(n, "must be a text in quotes")
		default:
			out[n] = v
		}
	}
	return out, diag.FromFindings("reading the stored keys", diag.WithPath(r.Findings(), path))
}

// change rewrites the file. Two processes that change it do so one after the other.
func (k Keys) change(ctx context.Context, edit func(map[string]string)) error {
	if k.Dir == "" {
		return diag.New(diag.FileSystemError, "storing a key: the configuration directory is not known").WithReason("no_config_directory")
	}
	base := atomicfile.Private(k.Dir)
	lock, err := base.LockWithin(ctx, lockFile, lockWait)
	if err != nil {
		return diag.Doing("storing a key", err)
	}
	defer lock.Release()
	m, err := k.read()
	if err != nil {
		return err
	}
	if m == nil {
		m = map[string]string{}
	}
	edit(m)
	err = base.Write(File, render(m), 0o600)
	if err != nil {
		return diag.Doing("storing a key", err)
	}
	return nil
}

func render(m map[string]string) []byte {
	var b strings.Builder
	b.WriteString("# Keys that `rye provider login` stored.\n[keys]\n")
	for _, n := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s = %s\n", n, tomlx.Quote(m[n]))
	}
	return []byte(b.String())
}
