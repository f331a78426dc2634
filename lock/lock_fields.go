package lock

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"unicode"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// words returns the n words of a plain field, nil if it is absent or invalid.
func (f *fieldReader) words(key string, n int) []string {
	x := f.take(key)
	if x == nil {
		return nil
	}
	if x.list || len(x.words[0]) != n {
		f.p.fault(diag.ParsingError, x.at, "%s must be %d words", key, n)
		return nil
	}
	return x.words[0]
}

// test reports an error at the entry.
func (f *fieldReader) test(key string, err error) {
	if err != nil {
		f.p.fault(codeOf(err), f.pos, "%s: %s", key, err)
	}
}

func codeOf(err error) diag.Code {
	if diag.CodeOf(err) == diag.LockRepointed {
		return diag.LockRepointed
	}
	return diag.ParsingError
}

// checked returns the word of a field that passes a check.
func (f *fieldReader) checked(key string, required bool, check func(string) error) string {
	x := f.take(key)
	if x == nil {
		if required && !f.failed() {
			f.p.fault(diag.ParsingError, f.pos, "the field %q is missing", key)
		}
		return ""
	}
	if x.list || len(x.words[0]) != 1 {
		f.p.fault(diag.ParsingError, x.at, "%s must be one word", key)
		return ""
	}
	if err := check(x.words[0][0]); err != nil {
		f.p.fault(codeOf(err), x.at, "%s: %s", key, err)
	}
	return x.words[0][0]
}

// failed reports whether the last finding is about this entry. Missing fields are
// reported once for each entry.
func (f *fieldReader) failed() bool {
	n := len(f.p.out)
	return n > 0 && f.p.out[n-1].Line >= f.pos.Line
}

func (f *fieldReader) digest(key string, required bool) (d item.Digest) {
	f.checked(key, required, func(s string) (err error) {
		if d, err = item.ParseDigest(s); err == nil && d == (item.Digest{}) {
			err = errors.New("no file has a digest of zeros")
		}
		return err
	})
	return d
}

// elements returns the elements of a list.
func (f *fieldReader) elements(key string) ([][]string, diag.Position) {
	x := f.take(key)
	if x == nil {
		return nil, f.pos
	}
	if !x.list || len(x.words) == 0 {
		f.p.fault(diag.ParsingError, x.at, "%s must be a list that is not empty", key)
		return nil, x.at
	}
	return x.words, x.at
}

func (f *fieldReader) list(key string, check func(string) error) []string {
	var out []string
	elements, pos := f.elements(key)
	for _, words := range elements {
		if len(words) != 1 {
			f.p.fault(diag.ParsingError, pos, "%s: %q contains several words", key, words)
			continue
		}
		if err := check(words[0]); err != nil {
			f.p.fault(codeOf(err), pos, "%s: %s", key, err)
		}
		out = append(out, words[0])
	}
	return out
}

// signers reads the field signer or signers.
func (f *fieldReader) signers() []string {
	one := f.checked("signer", false, checkSigner)
	more := f.list("signers", checkSigner)
	if one == "" {
		return more
	}
	return append([]string{one}, more...)
}

func (f *fieldReader) modules(key string) []Module {
	var out []Module
	elements, pos := f.elements(key)
	for _, words := range elements {
		id, why := parseID(words[0])
		m := Module{ID: id}
		if len(words) == 2 {
			m.Version = words[1]
		}
		switch {
		case len(words) > 2 || why != "" || id.String() != words[0]:
			f.p.fault(diag.ParsingError, pos, "%s: %q is not a bundle id and a version", key, strings.Join(words, " "))
		case m.Version != "" && checkRequire(id, m.Version) != nil:
			f.p.fault(diag.ParsingError, pos, "%s: %s", key, checkRequire(id, m.Version))
		}
		out = append(out, m)
	}
	return out
}

// isDep reports whether words are the name and the version of a wheel. Neither begins like
// an option.
func isDep(name, version string) bool {
	const small, digits = "abcdefghijklmnopqrstuvwxyz", "0123456789"
	return len(name) > 0 && len(name) <= 100 && len(version) > 0 && len(version) <= 100 &&
		strings.Trim(name, small+digits+"-") == "" && strings.Trim(name, "-") == name &&
		strings.Trim(
			version,
			small+strings.ToUpper(small)+digits+".!+_-",
		) == "" && strings.Contains(digits, version[:1])
}

func (f *fieldReader) deps(key string) []Dep {
	var out []Dep
	elements, pos := f.elements(key)
	for _, words := range elements {
		if len(words) != 3 || !isDep(words[0], words[1]) {
			f.p.fault(diag.ParsingError, pos, "%s: %q is not a name, a version and a digest", key, strings.Join(words, " "))
			continue
		}
		d, err := item.ParseDigest(words[2])
		if err != nil {
			f.p.fault(diag.ParsingError, pos, "%s: %s", key, err)
		}
		out = append(out, Dep{words[0], words[1], d})
	}
	return out
}

func (f *fieldReader) links(key string) []Link {
	var out []Link
	elements, pos := f.elements(key)
	for _, words := range elements {
		if len(words) != 2 {
			f.p.fault(diag.ParsingError, pos, "%s: %q is not a ref and a digest", key, words)
			continue
		}
		ref, err := item.ParseRef(words[0], "")
		d, err2 := item.ParseDigest(words[1])
		if err := errors.Join(err, err2); err != nil {
			f.p.fault(diag.ParsingError, pos, "%s: %s", key, err)
		}
		out = append(out, Link{ref, d})
	}
	return out
}

// checkRequire accepts a version of the project file: a version or a commit.
func checkRequire(id ID, v string) error {
	if IsCommit(v) && (id.Kind == HostID || id.Kind == URLID) {
		return nil
	}
	return id.CheckVersion(v)
}

// parseReplace reads a replacement that is written in its canonical form. An invalid one is
// a path, so that an entry with an error in it does not lack the fields of an origin, too.
func parseReplace(s string) (Replacement, error) {
	r, err := ParseReplacement(s)
	switch {
	case err != nil:
		return Replacement{Path: s}, err
	case r.String() != s:
		return r, errors.New("write " + r.String())
	}
	return r, nil
}

// parseCanonical reads an id that is written in its canonical form.
func parseCanonical(s string) (ID, error) {
	id, err := ParseID(s)
	if err == nil && id.String() != s {
		return ID{}, errors.New("the canonical id is " + id.String())
	}
	return id, err
}

func checkObject(s string) error {
	if !isObject(s) {
		return errors.New("want 40 or 64 lower-case hexadecimal digits")
	}
	return nil
}

func checkRef(s string) error {
	if !strings.HasPrefix(s, "refs/") || strings.ContainsFunc(s, func(r rune) bool { return !graphic(r) }) ||
		strings.ContainsAny(s, `\^~:?*[`) || strings.Contains(s, "..") {
		return errors.New("want the whole name of a ref, for example refs/tags/v1.2.3")
	}
	return nil
}

func checkCapability(s string) error {
	if s == "" ||
		strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == ' ' }) {
		return errors.New("a capability is one word")
	}
	return nil
}

// CheckSum returns nil if s is h1: and the standard base64 of 32 bytes in strict encoding.
func CheckSum(s string) error {
	text, ok := strings.CutPrefix(s, "h1:")
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if !ok || err != nil || len(b) != 32 || strings.ContainsAny(s, "\r\n") {
		return errors.New("want h1: and the base64 of 32 bytes")
	}
	return nil
}

// checkArchive accepts the digest of an archive.
func checkArchive(s string) error {
	_, err := item.ParseDigest(s)
	return err
}

// checkLogIndex accepts the number of an entry of a log.
func checkLogIndex(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return errors.New("want the number of a log entry")
	}
	return nil
}

// CheckLogKey accepts the key of a log in the form NAME+HASH+KEY. Package registry/log
// checks that the hash belongs to the key.
func CheckLogKey(s string) error {
	name, rest, _ := strings.Cut(s, "+")
	hash, key, ok := strings.Cut(rest, "+")
	b, err := base64.StdEncoding.Strict().DecodeString(key)
	if !ok || name == "" || len(hash) != 8 || strings.Trim(hash, "0123456789abcdef") != "" || err != nil || len(b) != 33 ||
		strings.ContainsFunc(s, func(r rune) bool { return !graphic(r) }) {
		return errors.New("want the key of a log: NAME+HASH+KEY")
	}
	return nil
}

// checkCheckpoint accepts the size and the root of a log.
func checkCheckpoint(size, root string) error {
	b, err := base64.StdEncoding.Strict().DecodeString(root)
	if checkLogIndex(size) != nil || err != nil || len(b) != 32 {
		return errors.New("want the number of entries and the base64 of 32 bytes")
	}
	return nil
}

// checkOrigin accepts an address only if it is the address of the id. A changed lock cannot
// redirect to a repository that the project file does not name.
func checkOrigin(id ID, url string) error {
	u, why := parseID(url)
	if why == "" && u.Subdir == "" && u.Major == "" && sameRepository(id, u) {
		return nil
	}
	return diag.New(diag.LockRepointed, "the address %q does not belong to %s", url, id)
}

func sameRepository(id, u ID) bool {
	switch {
	case id.Kind == u.Kind:
		return id.Repo == u.Repo
	case id.Kind != HostID || u.Kind != URLID:
		return false
	}
	rest, ssh := strings.CutPrefix(u.Repo, "ssh://")
	if !ssh && strings.Contains(rest, "://") {
		return false
	}
	if _, after, has := strings.Cut(rest, "@"); has {
		rest = after
	}
	if !ssh {
		rest = strings.Replace(rest, ":", "/", 1)
	}
	return strings.TrimSuffix(rest, ".git") == id.Repo
}
