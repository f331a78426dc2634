package rules

import (
	"bytes"
	"context"
	"github.com/ryeos/rye/lock/treehash"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/trust"
)

// Submission is a bundle that a key wants to publish.
type Submission struct {
	Host      string // of the registry, which the name of the bundle contains
	ID        wire.ID
	Version   string
	Files     []wire.File
	Documents []trust.File // keys of the namespace, and what is known to end them
}

// Content is what a bundle contains, for its index line and for searches.
type Content struct {
	Manifest                    string // the digest of its file
	Signers                     []string
	Requires, Caps, Exec, Items []string
	Found                       wire.Found
}

// Judge verifies a bundle as clients do, with the keys of its namespace as the only trusted
// ones. It reports every problem. Content is nil only if the manifest cannot be read.
type Judge func(ctx context.Context, s Submission) (*Content, []diag.Finding, error)

// Fill completes a line.
func (c *Content) Fill(l *wire.Line, size int64) {
	l.Size, l.Requires, l.Caps, l.Exec, l.Items = size, Unique(c.Requires), Unique(c.Caps), Unique(c.Exec), Unique(c.Items)
}

// Unique returns a sorted copy of a list without repetitions.
func Unique(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

// Unpack returns the files of an archive and the hash of their tree.
func Unpack(ctx context.Context, b []byte) (files []wire.File, sum string, err error) {
	list, err := wire.Unpack(ctx, bytes.NewReader(b), func(f wire.File) error { files = append(files, f); return nil })
	if err != nil {
		return nil, "", err
	}
	sum, err = treehash.Of(list)
	return files, sum, err
}

// JudgeArchive unpacks an archive and judges its files as the files of a submission.
func JudgeArchive(
	ctx context.Context,
	judge Judge,
	m *State,
	sub Submission,
	body []byte,
	want string,
	p *Problems,
) *Content {
	files, sum, err := Unpack(ctx, body)
	if err != nil {
		p.Add(err)
		return nil
	}
	// The files are judged also if the hash is wrong, so that an author sees all problems at once.
	if sum != want {
		p.Add(diag.New(diag.HashMismatch, "comparing the archive: the hash of its tree is %s, the statement names %s", sum, want))
	}
	sub.Files = files
	content, found, err := judge(ctx, sub)
	p.Add(err)
	p.list = append(p.list, found...)
	if content != nil {
		p.Add(continues(m, sub.ID, content.Signers))
	}
	return content
}
