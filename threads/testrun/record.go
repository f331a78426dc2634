package testrun

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/records"
	"github.com/ryeos/rye/threads/steps"
	"github.com/ryeos/rye/threads/testfile"
)

// RecordOptions is which thread becomes which test.
type RecordOptions struct {
	Thread  string
	As      string // the id of the test; "" means the directive's id
	Replace bool   // an existing file
	Held    policy.Held
}

// Recorded is a test that was written.
type Recorded struct {
	Ref       string `json:"ref"`
	Path      string `json:"path"`
	Directive string `json:"directive"`
	Turns     int64  `json:"turns"`
	Calls     int    `json:"calls"`
}

// testsConfig has the patterns of secrets.
const testsConfig = "agent/tests"

// Record writes the log of a completed thread, without secrets, as an unsigned item of the
// kind test. A recording that would not pass now is not written.
func Record(ctx context.Context, p *project.Project, o RecordOptions) (*Recorded, error) {
	recorded, err := threads.ReadRecorded(p.Spaces.ProjectDir, o.Thread)
	if err != nil {
		return nil, err
	}
	cleaner, err := testCleaner(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := ownDigests(ctx, p, recorded); err != nil {
		return nil, err
	}
	if err := cleaner.Recorded(recorded); err != nil {
		return nil, err
	}
	id := o.As
	if id == "" {
		id = recorded.Directive
	}
	ref, err := item.ParseRef(id, item.Test)
	if err != nil {
		return nil, err
	}
	if ref.Kind != item.Test {
		return nil, diag.New(diag.Usage, "recording %s: %s is not an id of the kind test", o.Thread, ref)
	}
	f := &testfile.File{
		ID:          ref.ID,
		Version:     "1.0.0",
		Description: "Recorded from directive:" + recorded.Directive + ".",
		Recorded:    recorded,
		Facts: testfile.Facts{
			Date:      recorded.Date,
			System:    runtime.GOOS,
			Project:   filepath.Base(p.Spaces.ProjectDir),
			Workspace: recorded.Workspace,
		},
	}
	text, err := f.Marshal()
	if err != nil {
		return nil, err
	}
	err = replaysEqual(ctx, p, ref, text, o.Held)
	if err != nil {
		return nil, err
	}
	rel := testfile.Dir + "/" + ref.ID + testfile.Ext
	if err := writeTest(p, rel, text, o.Replace); err != nil {
		return nil, err
	}
	calls, err := threads.CallsOf(recorded.Events)
	return &Recorded{
		Ref:       ref.String(),
		Path:      rel,
		Directive: "directive:" + recorded.Directive,
		Turns:     recorded.Result.Cost.Turns,
		Calls:     len(calls),
	}, err
}

// replaysEqual returns an error if a recording is not what this project does now: a person
// would sign a test that fails.
func replaysEqual(
	ctx context.Context,
	p *project.Project,
	ref item.Ref,
	text []byte,
	held policy.Held,
) error {
	if len(text) > resolve.MaxItem {
		return diag.New(diag.TooLarge, "recording %s: the recording has %d bytes, the most is %d", ref, len(text), resolve.MaxItem)
	}
	err := diag.FromFindings("recording "+ref.String(), hidden.Scan(text))
	if err != nil {
		return err
	}
	read, err := testfile.Read(ref.ID, text)
	if err != nil {
		return err
	}
	found, err := replayTest(ctx, p, read, held)
	if err == nil {
		err = testfile.Mismatch(ref.String(), found)
	}
	if err == nil {
		return nil
	}
	e := diag.Doing("recording "+ref.String()+": nothing was written, because the recording does not repeat the thread", err)
	if len(found) > 0 {
		e.WithDetail("diff", found[0].Diff)
	}
	return e
}

func writeTest(p *project.Project, rel string, text []byte, replace bool) error {
	base := atomicfile.Project(p.Spaces.ProjectDir)
	if replace {
		return base.Replace(rel, text, 0o644)
	}
	err := base.Create(rel, text, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return diag.New(diag.FileSystemError, "recording a test: %s exists", rel).
			WithReason("test_exists").
			WithDetail("path", rel)
	}
	return err
}

// testCleaner removes what must not be in a file that is committed: the keys that are stored,
// variables with the names of secrets, and what has the form of a key.
func testCleaner(ctx context.Context, p *project.Project) (*testfile.Cleaner, error) {
	s, err := p.Resolver.Config(ctx, testsConfig)
	if err != nil {
		return nil, err
	}
	known, err := records.Filter(p)
	if err != nil {
		return nil, err
	}
	return testfile.NewCleaner(s.Root, known.Bytes)
}

// ownDigests adds the digests of tools that gave results, except tools of the system space:
// a new release of rye does not change what was recorded.
func ownDigests(ctx context.Context, p *project.Project, r *threads.Recorded) error {
	for _, e := range r.Events {
		name, _ := e.Data["ref"].(string)
		if name == "" {
			continue
		}
		delete(e.Data, "digest")
		it, err := toolOf(ctx, p, name)
		if err != nil {
			return err
		}
		if it != nil && it.Root.Space != space.System {
			e.Data["digest"] = unsignedDigest(it).String()
		}
	}
	return nil
}

// unsignedDigest returns the digest of an item without its signature line: a file that is signed
// again is the same tool.
func unsignedDigest(it *resolve.Item) item.Digest {
	sp, err := sign.SplitFile(it.Bytes, it.Type.Style)
	if err != nil {
		return it.Digest
	}
	return item.DigestOf(sp.Body())
}

// toolOf returns the item of a recorded call, nil if it does not exist.
func toolOf(ctx context.Context, p *project.Project, name string) (*resolve.Item, error) {
	ref, err := item.ParseRef(name, item.Tool)
	if err != nil {
		return nil, err
	}
	it, err := p.Resolver.Inspect(ctx, ref)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, nil //nolint:nilerr // a call of an item that does not exist was refused
	}
	return it, nil
}

func (f testFacts) steps() *steps.Facts {
	return &steps.Facts{
		Date:      f.Date,
		System:    f.System,
		Project:   f.Project,
		Workspace: f.Workspace,
	}
}

type testFacts testfile.Facts
