package copies

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/links"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/workcopy"
	"github.com/ryeos/rye/threads/records"
)

// Copy is a working copy of a thread.
type Copy struct {
	ID      string    `json:"copy"`
	Updated time.Time `json:"updated"`           // the last event of a thread or run in it
	Removed time.Time `json:"removed_from"`      // from when gc removes it
	Soon    bool      `json:"soon,omitempty"`    // the time to warn has come
	Reason  string    `json:"reason,omitempty"`  // why it stays
	Dropped bool      `json:"dropped,omitempty"` // gc removed it, or would
	copied  *workcopy.Copy
	Failed  error `json:"-"` // it could not be removed
}

// All returns the working copies of the project, and which of them gc removes. logs are the
// logs of the project.
func All(ctx context.Context, p *project.Project, logs []LoggedThread) ([]Copy, error) {
	settings, err := readSettings(ctx, p)
	if err != nil {
		return nil, err
	}
	found, err := list(p)
	out := make([]Copy, 0, len(found))
	for _, c := range found {
		o := Copy{ID: c.ID, copied: c}
		o.Updated, _ = time.Parse(time.RFC3339, c.Created)
		for _, l := range logs {
			if l.Copy == c.ID && l.Updated.After(o.Updated) {
				o.Updated = l.Updated
			}
			if l.Copy == c.ID && !l.failed {
				o.Reason = cmp.Or(o.Reason, l.Reason)
			}
		}
		o.Removed = o.Updated.AddDate(0, 0, settings.days)
		now := p.Env.Now()
		o.Dropped = o.Reason == "" && !now.Before(o.Removed)
		o.Soon = o.Reason == "" &&
			!o.Dropped &&
			!now.Before(o.Updated.AddDate(0, 0, settings.warn))
		out = append(out, o)
	}
	return out, err
}

// list returns the working copies of the project.
func list(p *project.Project) ([]*workcopy.Copy, error) {
	dir, err := copiesDir(p)
	if err != nil || p.Spaces.ProjectDir == "" {
		return nil, nil // without a state directory there are none
	}
	return workcopy.List(dir, project.RealPath(p.Spaces.ProjectDir, links.Seen{}))
}

// copySettings are the settings of working copies: after how many days without an event gc
// removes one, and after how many a person is warned; and what a copy of all files may have.
type copySettings struct {
	days, warn   int
	files, bytes int64
}

func readSettings(ctx context.Context, p *project.Project) (*copySettings, error) {
	s, err := p.Resolver.Config(ctx, records.Config)
	if err != nil {
		return nil, err
	}
	r := tree.NewReader(&tree.Doc{Root: s.Root}, diag.ConfigError)
	section := r.Map("copies")
	out := &copySettings{
		days:  int(section.Int("older_than_days", 14, 0, 36_500)),
		warn:  int(section.Int("warn_days", 7, 0, 36_500)),
		files: section.Int("max_files", 200_000, 1, 10_000_000),
		bytes: section.Int("max_bytes", 4<<30, 1, 1<<40),
	}
	return out, diag.FromFindings("reading config:"+records.Config, r.Findings())
}

// DropOld removes those that are to be removed, and what a stopped process left. One that
// cannot be removed stays with the reason, and the others do not wait for it.
func DropOld(ctx context.Context, p *project.Project, copies []Copy) error {
	if dir, err := copiesDir(p); err == nil {
		workcopy.Sweep(dir, p.Env.Now())
	}
	for i := range copies {
		c := &copies[i]
		if !c.Dropped {
			continue
		}
		if err := c.copied.Drop(ctx); err != nil {
			if ctx.Err() != nil {
				return err
			}
			c.Dropped, c.Reason, c.Failed = false, err.Error(), err
		}
	}
	return nil
}

// Old returns the working copies of the project that gc removes soon, or now.
func Old(ctx context.Context, p *project.Project) ([]Copy, error) {
	found, err := list(p)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	settings, err := readSettings(ctx, p)
	if err != nil {
		return nil, err
	}
	due := p.Env.Now().AddDate(0, 0, -settings.warn).UTC().Format(time.RFC3339Nano)
	if !slices.ContainsFunc(found, func(c *workcopy.Copy) bool { return c.Created <= due }) {
		return nil, nil // and no log needs to be read
	}
	logs, err := Logs(ctx, p, nil)
	if err != nil {
		return nil, err
	}
	all, err := All(ctx, p, logs)
	return slices.DeleteFunc(all, func(c Copy) bool {
		return !c.Soon && !c.Dropped
	}), err
}
