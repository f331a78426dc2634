package runsoutside

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/filestamp"
	"github.com/ryeos/rye/internal/tree"
)

// Store keeps answers of git between processes. Load must return only what Save got from this
// program and account.
type Store interface {
	Load(name string) []byte
	Save(name string, b []byte)
}

// answered are the settings that apply to a directory, with the files on which they depend.
type answered struct {
	taken  int64
	files  []stamp
	values []value
}

// stamp identifies a file and its last change, or states that it does not exist.
type stamp struct {
	path    string
	size    int64 // -1 if it does not exist
	changed int64
	inode   uint64
}

// answerForm is the first value of an answer in a Store.
const answerForm = "rye git settings 2"

// append encodes an answer.
func (a *answered) append(b []byte) []byte {
	all := []any{answerForm, a.taken, int64(len(a.files))}
	for _, s := range a.files {
		all = append(all, s.path, s.size, s.changed, int64(s.inode))
	}
	for _, v := range a.values {
		all = append(all, v.key, v.text, v.file)
	}
	b, _ = tree.Append(b, all)
	return b
}

// parseAnswer reads what append made, ok false for anything else.
func parseAnswer(b []byte) (a answered, ok bool) {
	v, rest, err := tree.Decode(string(b))
	all, _ := v.([]any)
	if err != nil || rest != "" || len(all) < 3 || all[0] != answerForm {
		return a, false
	}
	ok = true
	text := func() (s string) {
		if ok && len(all) > 0 {
			s, ok = all[0].(string)
			all = all[1:]
			return s
		}
		ok = false
		return ""
	}
	number := func() (n int64) {
		if ok && len(all) > 0 {
			n, ok = all[0].(int64)
			all = all[1:]
			return n
		}
		ok = false
		return 0
	}
	text()
	a.taken = number()
	for n := number(); n > 0 && ok; n-- {
		a.files = append(a.files, stamp{text(), number(), number(), uint64(number())})
	}
	for ok && len(all) > 0 {
		a.values = append(a.values, value{text(), text(), text()})
	}
	return a, ok
}

// settle is the age that the last change of a file must have so that a later one has another time.
const settle = 2 * time.Second

// values returns the settings that apply to the work tree at top: the settings that rye reads,
// and the answers of git. Git knows files that this package does not, such as files of its
// installation. Both are read again only if one of the files has changed since.
func (f *Finder) values(top, dir, common string) []value {
	configs := f.configs(dir, common)
	if f.Ask == nil {
		return f.read(configs).values
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	has, ok := f.asked[top]
	if ok && has.same(configs) {
		return has.values
	}
	name := f.name(top)
	if f.Store != nil {
		a, ok := parseAnswer(f.Store.Load(name))
		if ok && a.same(configs) {
			return f.remember(top, a)
		}
	}
	a := answered{taken: time.Now().UnixNano()}
	r := f.read(configs)
	out := f.Ask(top)
	values := append(r.values, parseList(out, top)...)
	files := r.files
	for _, v := range values {
		if v.file != "" && !slices.Contains(files, v.file) {
			files = append(files, v.file)
		}
		if kindOf(v.key, v.text) != nothing {
			a.values = append(a.values, v)
		}
	}
	for _, file := range files {
		a.files = append(a.files, stampOf(file))
	}
	if out == nil || !a.settled() {
		return a.values
	}
	if f.Store != nil {
		f.Store.Save(name, a.append(nil))
	}
	return f.remember(top, a)
}

// read reads the files, those that they include, and the environment.
func (f *Finder) read(configs []string) *reader {
	r := newReader(f.Home)
	for _, c := range configs {
		r.file(c, 0)
	}
	f.environ(r)
	return r
}

func (f *Finder) remember(top string, a answered) []value {
	if f.asked == nil {
		f.asked = map[string]answered{}
	}
	f.asked[top] = a
	return a.values
}

// same reports whether no file changed, and whether files has none that was not known.
func (a *answered) same(files []string) bool {
	return !slices.ContainsFunc(a.files, func(was stamp) bool {
		return stampOf(was.path) != was
	}) &&
		!slices.ContainsFunc(files, func(file string) bool {
			return !slices.ContainsFunc(a.files, func(was stamp) bool {
				return was.path == file
			})
		})
}

// settled reports whether another change of a file would give it another stamp.
func (a *answered) settled() bool {
	before := time.Unix(0, a.taken).Add(-settle).UnixNano()
	return !slices.ContainsFunc(a.files, func(s stamp) bool {
		return s.changed >= before
	})
}

func stampOf(path string) stamp {
	fi, err := os.Stat(path)
	if err != nil {
		return stamp{path: path, size: -1}
	}
	changed, inode := filestamp.Change(fi)
	return stamp{path, fi.Size(), max(changed, fi.ModTime().UnixNano()), inode}
}

// name returns the name of the answer about a directory in an environment.
func (f *Finder) name(top string) string {
	h := sha256.New()
	h.Write([]byte(top + "\x00" + f.Home + "\x00"))
	for _, kv := range f.Environ {
		key, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(key, "GIT_") || key == "PATH" || key == "XDG_CONFIG_HOME" || key == "HOME" {
			h.Write([]byte(kv + "\x00"))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// parseList reads the output of git config --list -z --show-origin. An origin is relative to
// the directory of git.
func parseList(out []byte, dir string) (list []value) {
	cells := bytes.Split(bytes.TrimSuffix(out, []byte{0}), []byte{0})
	for i := 0; i+1 < len(cells); i += 2 {
		key, text, _ := strings.Cut(string(cells[i+1]), "\n")
		v := value{key: key, text: text}
		file, ok := strings.CutPrefix(string(cells[i]), "file:")
		if ok {
			v.file = joined(dir, filepath.FromSlash(file))
		}
		list = append(list, v)
	}
	return list
}
