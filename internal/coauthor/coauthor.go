// Package coauthor reports an author whose signatures the other people and the CI of a
// project do not trust: a second author signs, verifies on the own machine, and is
// refused everywhere else.
//
// It reads the workflows of a repository for the keys that CI trusts, and judges a key
// as CI does: with the documents of the project only.
package coauthor

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// Gap is a key of an author that others do not trust.
type Gap struct {
	Key   sign.Fingerprint `json:"key"`
	Owner string           `json:"owner,omitempty"`
	// Where is the workflow that does not trust the key, relative to the top of the
	// repository, or the project's trust directory if no workflow names keys.
	Where string `json:"where"`
	// Named is set if the workflow names the key, and the project has no document of it.
	Named bool `json:"named,omitempty"`
	// Endorsers own the keys that the workflow names and that may endorse; none may be empty.
	Endorsers []string `json:"endorsers"`
}

// Text returns the gap in one sentence.
func (g *Gap) Text() string {
	return plain(g.Where) + " does not trust your key " + g.Key.Short() + owned(g.Owner) + ", so others refuse what it signs"
}

// Next returns the command or action that closes the gap, in one line.
func (g *Gap) Next() string {
	file := "key-" + g.Key.String() + ".toml"
	if g.Named {
		return "`rye key export " + g.Key.Short() + " >.ai/trust/" + file + "`, and commit it"
	}
	if len(g.Endorsers) > 0 {
		return "`rye key export " + g.Key.Short() + " >" + file + "`, and " + plain(strings.Join(g.Endorsers, " or ")) + " runs `rye trust endorse " + file + " --kinds '*' --namespaces '**'` in this project and commits .ai/trust"
	}
	if strings.HasPrefix(g.Where, ".ai/") {
		return "`rye key export " + g.Key.Short() + " >.ai/trust/" + file + "`, commit it, and let the others run `rye trust add .ai/trust/" + file + "`"
	}
	return "`rye key export " + g.Key.Short() + " >.ai/trust/" + file + "`, and add " + g.Key.String() + " to RYE_TRUST_ROOT in " + plain(g.Where)
}

// plain returns a name without the marks of a command: the texts show commands between
// backticks, and a repository chooses the names of owners and workflows.
func plain(name string) string {
	return strings.ReplaceAll(name, "`", "'")
}

func owned(owner string) string {
	if owner == "" {
		return ""
	}
	return " (" + plain(owner) + ")"
}

// Possible reports, without reading a document, whether there may be a gap: a workflow
// names trusted keys, or the project has trust documents.
func Possible(top, trustDir string) bool {
	if _, err := os.Lstat(trustDir); err == nil {
		return true
	}
	return len(workflows(top)) > 0
}

// Params describe the project and the author.
type Params struct {
	Top   string           // of the repository, or the directory of the project without one
	Trust trust.Params     // of the author; the documents of the user and the machine are not read
	Key   sign.Fingerprint // of the author
	Owner string
}

// Find returns the first workflow that does not trust the key, else the trust directory
// of the project if it has documents of other people and none that makes the key known;
// nil if there is no gap.
func Find(p Params) *Gap {
	named := false
	for _, w := range workflows(p.Top) {
		named = true
		if gap := p.judge(w.path, w.roots); gap != nil {
			return gap
		}
	}
	if named {
		return nil
	}
	return p.directory()
}

// judge returns the gap if the keys of a workflow do not make the author's key valid.
func (p Params) judge(where string, roots []sign.Fingerprint) *Gap {
	store, _ := trust.Load(trust.Params{
		ProjectDir: p.Trust.ProjectDir,
		Roots:      roots,
		Anchors:    p.Trust.Anchors,
		Floor:      p.Trust.Floor,
		Now:        p.Trust.Now,
	})
	k, known := store.Key(p.Key)
	if known && k.Tier != "" && k.State.Usable() {
		return nil
	}
	gap := &Gap{
		Key:       p.Key,
		Owner:     p.Owner,
		Where:     where,
		Named:     slices.Contains(roots, p.Key),
		Endorsers: []string{},
	}
	for _, root := range roots {
		for _, d := range store.Documents(root) {
			if slices.Contains(d.Scope.May, "endorse") &&
				!slices.Contains(gap.Endorsers, d.Owner) {
				gap.Endorsers = append(gap.Endorsers, d.Owner)
			}
		}
	}
	return gap
}

// directory returns the gap if the trust directory of the project has documents, but none
// about the author's key.
func (p Params) directory() *Gap {
	if p.Trust.ProjectDir == "" {
		return nil
	}
	others := false
	for _, e := range entries(filepath.Dir(filepath.Dir(p.Trust.ProjectDir)), ".ai/trust") {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "key-"+p.Key.String()),
			strings.HasPrefix(name, "endorse-"+p.Key.String()):
			return nil
		case strings.HasPrefix(name, "key-"), strings.HasPrefix(name, "endorse-"):
			others = true
		}
	}
	if !others {
		return nil
	}
	return &Gap{
		Key:       p.Key,
		Owner:     p.Owner,
		Where:     ".ai/trust",
		Endorsers: []string{},
	}
}

// workflow is a file of CI that names trusted keys.
type workflow struct {
	path  string // relative to the top of the repository, with slashes
	roots []sign.Fingerprint
}

// rootSetting returns the expression that finds the keys which a workflow trusts, as
// rye init --ci writes them.
func rootSetting() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*(?:- )?RYE_TRUST_ROOT\s*[:=]\s*["']?([0-9a-f, ]{64,})`)
}

// workflows returns the files of the CI systems that name trusted keys.
func workflows(top string) (list []workflow) {
	paths := []string{".gitlab-ci.yml", ".gitlab/rye.yml"}
	for _, e := range entries(top, ".github/workflows") {
		ext := filepath.Ext(e.Name())
		if ext == ".yml" || ext == ".yaml" {
			paths = append(paths, ".github/workflows/"+e.Name())
		}
	}
	setting := rootSetting()
	for _, path := range paths {
		text, _, err := openat.Read(top, path, openat.MaxText)
		if err != nil {
			continue // missing, or a link: CI does not take it for a workflow
		}
		for _, found := range setting.FindAllStringSubmatch(string(text), -1) {
			if roots := fingerprints(found[1]); len(roots) > 0 {
				list = append(list, workflow{path, roots})
			}
		}
	}
	return list
}

// entries returns the entries of a directory of the repository; none if it is missing or
// behind a link, because neither CI nor the trust store follows one.
func entries(top, rel string) []fs.DirEntry {
	root, err := openat.OpenFolder(top)
	if err != nil {
		return nil
	}
	defer root.Close()
	dir, err := root.Sub(rel, 0)
	if err != nil {
		return nil
	}
	defer dir.Close()
	list, _ := dir.Entries() // a part of the list warns of a part
	return list
}

func fingerprints(list string) (roots []sign.Fingerprint) {
	for word := range strings.SplitSeq(list, ",") {
		fp, err := sign.ParseFingerprint(strings.TrimSpace(word))
		if err == nil {
			roots = append(roots, fp)
		}
	}
	return roots
}
