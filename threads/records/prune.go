package records

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/redact"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// Config states how many records of runs stay.
const Config = "agent/records"

// maxRecord bounds a record that is read.
const maxRecord = 1 << 20

// Filter returns a filter that removes secrets from a record of a run, which a search finds:
// the stored keys, and every variable of the environment with the name of a secret.
// Secrets stay in the log of a run, because a resume reads the values. The log is private and
// hidden from every sandbox; records, which a search finds, have none.
func Filter(p *project.Project) (*redact.Filter, error) {
	keys := p.Env.Keys()
	names, err := keys.Stored()
	if err != nil {
		return nil, err
	}
	found, err := keys.Find(names...)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for name, key := range found {
		values[name] = key.Value
	}
	return Redactor(p, values), nil
}

// pruneRecords removes the oldest records of the runs of a graph, or of threads, as
// config:agent/records states. It leaves the record of a run that can continue by itself, and
// records that the runtime key did not sign.
func pruneRecords(ctx context.Context, p *project.Project, ref item.Ref) error {
	rel := path.Join(space.Dir, "knowledge", path.Dir(ref.ID))
	ids := recordIDs(p, rel)
	if len(ids) < 2 {
		return nil
	}
	s, err := p.Resolver.Config(ctx, Config)
	if err != nil {
		return err
	}
	r := tree.NewReader(&tree.Doc{Root: s.Root}, diag.ConfigError)
	keep := int(r.Map("runs").Int("keep", 0, 0, 1_000_000))
	if err := diag.FromFindings("reading config:"+Config, r.Findings()); err != nil {
		return err
	}
	if keep == 0 || len(ids) <= keep {
		return nil
	}
	for _, id := range ids[:len(ids)-keep] {
		if id == path.Base(ref.ID) || !runEnded(ctx, p, id) {
			continue
		}
		err := Remove(p, item.Ref{Kind: item.Knowledge, ID: path.Dir(ref.ID) + "/" + id})
		if err != nil {
			return err
		}
	}
	return nil
}

// Remove removes a record, if a person has not signed or edited it.
func Remove(p *project.Project, ref item.Ref) error {
	if !ownRecord(p, ref) {
		return nil
	}
	err := atomicfile.Project(p.Spaces.ProjectDir).Remove(path.Join(space.Dir, "knowledge", ref.ID+".md"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diag.Doing("removing the record of "+path.Base(ref.ID), err)
	}
	return nil
}

// recordIDs returns the runs that have a record in a directory, the oldest first.
func recordIDs(p *project.Project, rel string) []string {
	entries, err := os.ReadDir(filepath.Join(p.Spaces.ProjectDir, filepath.FromSlash(rel)))
	if err != nil {
		return nil // the record was just written there: the next run tries again
	}
	var ids []string
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".md")
		if ok && e.Type().IsRegular() && graph.IsID(id) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		return strings.Compare(a[len(a)-26:], b[len(b)-26:])
	})
	return ids
}

// runEnded reports whether a run has ended, or has no log any more.
func runEnded(ctx context.Context, p *project.Project, id string) bool {
	s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
	if err != nil {
		return diag.CodeOf(err) == diag.ThreadNotFound
	}
	switch s.State {
	case graph.StateCompleted, graph.StateCancelled, graph.StateKilled:
		return true
	}
	return s.State == graph.StateError && s.Reason == ""
}

// ownRecord reports whether a record is as a runtime key of this account signed it: a
// person who signs or edits a record keeps it.
func ownRecord(p *project.Project, ref item.Ref) bool {
	b, _, err := openat.Read(
		p.Spaces.ProjectDir,
		path.Join(space.Dir, "knowledge", ref.ID+".md"),
		maxRecord,
	)
	if err != nil {
		return false
	}
	style, _ := sign.StyleByName("<!--")
	_, err = sign.Verify(b, style, extract.Subject(ref), func(f sign.Fingerprint) (ed25519.PublicKey, bool) {
		k, ok := p.Keys.RuntimePublic(f)
		return k, ok
	})
	return err == nil
}
