package project

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/owner"
	"github.com/ryeos/rye/internal/userdirs"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/verify"
)

// MachineDir returns the directory of the administrator's files for rye, "" if the
// machine has none.
func (e *Env) MachineDir() string {
	switch {
	case e.Etc != "":
		return e.Etc
	case runtime.GOOS != "windows":
		return "/etc/rye"
	}
	if dir := e.Getenv("ProgramData"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "rye")
	}
	return ""
}

// policies reads the policy files above every project: the machine's, then the
// user's. One that cannot be read or understood is an error, for it may refuse
// what is about to be done.
func (e *Env) policies(d userdirs.Dirs) (packages.Rules, error) {
	var out packages.Rules
	for _, dir := range []string{e.MachineDir(), d.Config} {
		if dir == "" {
			continue
		}
		path := filepath.Join(dir, lock.PolicyFile)
		b, err := readPolicy(path)
		if err != nil {
			return nil, err
		}
		if b == nil {
			continue
		}
		m, found := lock.ParsePolicy(b)
		err = diag.FromFindings("reading a policy", diag.WithPath(found, path))
		if err != nil {
			return nil, err
		}
		out = append(out, packages.RuleFile{Path: path, ProjectFile: m})
	}
	// The keys of this section are of package policy. Without the check a spelling error
	// would lift a restriction until something reads the section.
	_, _, _, err := policy.ReadAllowance(agentLayers(out))
	return out, err
}

// readPolicy returns nil when there is no such file; a link that leads nowhere
// is a file.
func readPolicy(path string) ([]byte, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	unreadable := func(err error) error {
		// It may forbid the command, so that rye does nothing without it.
		return diag.New(diag.FileSystemError, "reading the policy %s: %w", path, err).
			WithReason("policy").
			WithDetail("path", path)
	}
	f, err := openat.OpenRegular(path)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, unreadable(err)
	}
	if !owner.OnlyMine(fi) {
		return nil, diag.New(diag.ConfigError, "reading the policy %s: it is not a regular file that only you or root can write (%s)", path, fi.Mode()).
			WithReason("policy_mode").
			WithDetail("path", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, lock.MaxProjectFile+1))
	if err != nil {
		return nil, unreadable(err)
	}
	return append([]byte{}, b...), nil
}

// layers returns the layers of a lock; each applies the rules when it is used.
func (p *Project) layers(ctx context.Context, sl *SpaceLock) ([]space.Layer, error) {
	layers, err := sl.Layers()
	return p.withRules(ctx, sl, layers), err
}

// withRules makes each layer apply the rules and publisher documents when it is
// used: a vendored bundle, or one installed under other rules, was never judged by
// these.
func (p *Project) withRules(
	ctx context.Context,
	sl *SpaceLock,
	layers []space.Layer,
) []space.Layer {
	rules := WithManifest(p.Rules, sl.ProjectFile)
	ctx = context.WithoutCancel(ctx) // a server keeps the project for later calls, and the answer
	for i, l := range layers {
		if b := sl.Lock.BundleNamed(l.ID); b != nil {
			layers[i].Allowed = func(root *space.Root) error {
				return p.allowed(ctx, rules, *b, root)
			}
		}
	}
	return layers
}

// allowed returns why rules or publisher documents refuse a locked bundle. Signers
// and capabilities come from its files, because the lock is not signed.
func (p *Project) allowed(
	ctx context.Context,
	rules packages.Rules,
	b lock.Bundle,
	root *space.Root,
) error {
	if err := rules.Refuse(b); err != nil || b.Sum == "" {
		return err
	}
	if rules.LimitCaps() {
		caps, err := p.requestedCaps(ctx, root)
		if err == nil {
			err = rules.Caps(b.Module(), caps)
		}
		if err != nil {
			return err
		}
	}
	if !rules.DemandsSigners(b.ID.String()) && !p.Trust.Publishes() {
		return nil
	}
	name, keys, err := verify.Signers(p.Trust, root, b.Manifest)
	if err != nil {
		return err
	}
	return packages.CheckSigners(
		b.Module(),
		rules.SignerRules(p.Trust, b.Module(), name),
		packages.SignerTexts(keys),
	)
}

// WithManifest adds the rules of a rye.yaml, which may be absent.
func WithManifest(above packages.Rules, m *lock.ProjectFile) packages.Rules {
	if m == nil {
		return above
	}
	return append(slices.Clone(above), packages.RuleFile{Path: lock.ProjectFileName, ProjectFile: m})
}
