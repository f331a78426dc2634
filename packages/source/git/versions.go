package git

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"slices"
	"strings"

	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// listing returns the versions of a bundle among the tags of its repository.
func listing(id lock.ID, url string, refs *Refs) *source.Listing {
	l := &source.Listing{ID: id, URL: url, Head: refs.Head}
	sum := sha256.New()
	best := map[string]Ref{}
	for _, r := range refs.List {
		tag, ok := strings.CutPrefix(r.Name, "refs/tags/")
		v := strings.TrimPrefix(tag, prefixOf(id))
		if ok &&
			strings.HasPrefix(tag, prefixOf(id)) &&
			id.CheckVersion("v"+v) == nil &&
			!lock.IsPseudo("v"+v) {
			l.Misnamed = append(l.Misnamed, tag)
		}
		if !ok ||
			id.CheckVersion(v) != nil ||
			lock.IsPseudo(v) ||
			!slices.Contains(id.Tags(v), tag) {
			continue
		}
		io.WriteString(sum, r.Name+" "+r.OID+" "+r.Commit+"\n")
		// The tag bundles/pii/v1.0.0 takes precedence over v1.0.0.
		was, taken := best[v]
		if !taken || len(was.Name) < len(r.Name) {
			best[v] = r
		}
	}
	for v, r := range best {
		l.Versions = append(l.Versions, source.Version{
			Version:   v,
			Ref:       r.Name,
			TagObject: r.TagObject(),
			Commit:    r.Commit,
		})
	}
	slices.SortFunc(l.Versions, func(a, b source.Version) int {
		return lock.CompareVersions(a.Version, b.Version)
	})
	l.TagSum = "t1:" + base64.StdEncoding.EncodeToString(sum.Sum(nil))
	return l
}

func prefixOf(id lock.ID) string {
	if id.Subdir == "" {
		return ""
	}
	return id.Subdir + "/"
}

// newest returns the version for "latest": the newest release, or the newest
// pre-release if there is no release.
func newest(l *source.Listing) (source.Version, bool) {
	for _, release := range []bool{true, false} {
		for _, v := range slices.Backward(l.Versions) {
			if !release || !strings.Contains(v.Version, "-") {
				return v, true
			}
		}
	}
	return source.Version{}, false
}
