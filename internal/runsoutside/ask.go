package runsoutside

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/filestamp"
)

// Store keeps answers of git between processes. Load must return only what Save got from this
// program and account.
type Store interface {
	Load(name string) []byte
	Save(name string, b []byte)
}

// answered are the settings that apply to a directory, with the files on which they depend.
type answered struct {
	Version int      `json:"version"`
	Taken   int64    `json:"taken"`
	Files   []stamp  `json:"files"`
	Values  []stored `json:"values"`
}

type stored struct {
	Key  string `json:"key"`
	Text string `json:"text"`
	File string `json:"file"`
}

// stamp identifies a file and its last change, or states that it does not exist.
type stamp struct {
	Path    string `json:"path"`
	Size    int64  `json:"size"` // -1 if it does not exist
	Changed int64  `json:"changed"`
	Inode   uint64 `json:"inode"`
}

const answerVersion = 2

// settle is the age that the last change of a file must have so that a later one has another time.
const settle = 2 * time.Second

// values returns the settings that apply to the work tree at top: those that rye reads, and those
// that git answers. Git knows files that this package does not, such as those of its installation.
// Both are read again only if one of the files has changed since.
func (f *Finder) values(top, dir, common string) []value {
	configs := f.configs(dir, common)
	if f.Ask == nil {
		return f.read(configs).values
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if has := f.asked[top]; has.Version > 0 && has.same(configs) {
		return has.list()
	}
	name := f.name(top)
	var a answered
	if f.Store != nil {
		if b := f.Store.Load(name); b != nil && json.Unmarshal(b, &a) == nil && a.Version == answerVersion && a.same(configs) {
			return f.remember(top, a)
		}
	}
	a = answered{Version: answerVersion, Taken: time.Now().UnixNano()}
	r := f.read(configs)
	out := f.Ask(top)
	values, files := append(r.values, parseList(out, top)...), r.files
	for _, v := range values {
		if v.file != "" && !slices.Contains(files, v.file) {
			files = append(files, v.file)
		}
		if kindOf(v.key, v.text) != nothing {
			a.Values = append(a.Values, stored{v.key, v.text, v.file})
		}
	}
	for _, file := range files {
		a.Files = append(a.Files, stampOf(file))
	}
	if out == nil || !a.settled() {
		return a.list()
	}
	if f.Store != nil {
		if b, err := json.Marshal(a); err == nil {
			f.Store.Save(name, b)
		}
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
	return a.list()
}

func (a *answered) list() []value {
	out := make([]value, len(a.Values))
	for i, s := range a.Values {
		out[i] = value{s.Key, s.Text, s.File}
	}
	return out
}

// same reports whether no file changed, and whether files has none that was not known.
func (a *answered) same(files []string) bool {
	return !slices.ContainsFunc(a.Files, func(was stamp) bool { return stampOf(was.Path) != was }) &&
		!slices.ContainsFunc(files, func(file string) bool {
			return !slices.ContainsFunc(a.Files, func(was stamp) bool { return was.Path == file })
		})
}

// settled reports whether another change of a file would give it another stamp.
func (a *answered) settled() bool {
	before := time.Unix(0, a.Taken).Add(-settle).UnixNano()
	return !slices.ContainsFunc(a.Files, func(s stamp) bool { return s.Changed >= before })
}

func stampOf(path string) stamp {
	fi, err := os.Stat(path)
	if err != nil {
		return stamp{Path: path, Size: -1}
	}
	changed, inode := filestamp.Change(fi)
	return stamp{path, fi.Size(), max(changed, fi.ModTime().UnixNano()), inode}
}

// name returns the name of the answer about a directory in an environment.
func (f *Finder) name(top string) string {
	h := sha256.New()
	h.Write([]byte(top + "\x00" + f.Home + "\x00"))
	for _, kv := range f.Environ {
		if key, _, _ := strings.Cut(kv, "="); strings.HasPrefix(key, "GIT_") || key == "PATH" || key == "XDG_CONFIG_HOME" || key == "HOME" {
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
		if file, ok := strings.CutPrefix(string(cells[i]), "file:"); ok {
			v.file = joined(dir, filepath.FromSlash(file))
		}
		list = append(list, v)
	}
	return list
}
