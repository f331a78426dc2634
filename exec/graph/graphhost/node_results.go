package graphhost

import (
	"cmp"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
)

// wholeDigest returns the digests of all items of a chain.
func wholeDigest(chain *exec.Chain) string {
	var all []string
	for _, it := range chain.Elements {
		all = append(all, it.Digest.String())
	}
	return strings.Join(all, " ")
}

const (
	resultsDir = "graph-results"
	maxResult  = 1 << 20
	maxResults = 1024
)

// nodeResults returns the store of results of nodes with cache_result, nil without a
// cache.
// The result of a graph is not kept: the graph can ask a person, and an answer must not be
// cached.
func nodeResults(p *project.Project) graph.Results {
	if p.Cache == "" {
		return nil
	}
	return resultStore{p.Cache}
}

// resultStore keeps results in the user's cache, one file for each. The first line of a
// file is the digest of its name and the rest: a damaged or moved entry is not used.
type resultStore struct{ dir string }

// Get implements graph.Results.
func (s resultStore) Get(key string) (any, bool) {
	name := resultName(key)
	b, _, err := openat.Read(s.dir, resultsDir+"/"+name, maxResult+100)
	if err != nil {
		return nil, false
	}
	head, text, ok := strings.Cut(string(b), "\n")
	if !ok || head != resultHead(name, text) {
		return nil, false
	}
	v, findings := jsonx.ParseMessage([]byte(text))
	return v, len(findings) == 0
}

// Put implements graph.Results.
func (s resultStore) Put(key string, result any) error {
	b, err := jsonx.Marshal(result)
	if err != nil || len(b) > maxResult {
		return err
	}
	name := resultName(key)
	base := atomicfile.Private(s.dir)
	if err := s.prune(base); err != nil {
		return err
	}
	return base.Replace(
		resultsDir+"/"+name,
		[]byte(resultHead(name, string(b))+"\n"+string(b)),
		0o600,
	)
}

// prune removes the oldest half of too many entries.
func (s resultStore) prune(base atomicfile.Base) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, resultsDir))
	if err != nil || len(entries) < maxResults {
		return nil // an absent directory is made by the first entry
	}
	age := func(e os.DirEntry) int64 {
		fi, err := e.Info()
		if err != nil {
			return 0
		}
		return fi.ModTime().UnixNano()
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int {
		return cmp.Compare(age(a), age(b))
	})
	for _, e := range entries[:len(entries)/2] {
		err := base.Remove(resultsDir + "/" + e.Name())
		if err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// resultName returns the name of the file of a key.
func resultName(key string) string {
	d := item.DigestOf([]byte(key))
	return hex.EncodeToString(d[:]) + ".json"
}

func resultHead(name, text string) string {
	return item.DigestOf([]byte(name + "\n" + text)).String()
}
