package project

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/keychain"
	"github.com/ryeos/rye/internal/userdirs"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// Trust settings for machines without a user.
const (
	envTrustRoot = "RYE_TRUST_ROOT"         // fingerprints, separated by commas
	envMaxAge    = "RYE_REVOCATION_MAX_AGE" // of the newest list of revocations, such as 7d
)

// trustParams returns where trust documents are and which anchors the command line
// and the environment name.
func (e *Env) trustParams(dirs userdirs.Dirs, project string) (trust.Params, error) {
	p := trust.Params{
		SystemDirs: e.systemTrust(),
		UserDir:    dirs.Trust(),
		Anchors:    CompiledAnchors(),
		Floor:      e.Released,
		Now:        e.Now,
		Identity:   userID(),
		StateDir:   stateTrust(dirs),
	}
	if project != "" {
		p.ProjectDir = filepath.Join(project, space.Dir, "trust")
	}
	var err error
	if p.Roots, err = trustRoots(e.Getenv(envTrustRoot)); err != nil {
		return p, err
	}
	if p.RootPaths, err = e.rootPaths(project); err != nil {
		return p, err
	}
	if age := e.Getenv(envMaxAge); age != "" {
		if p.MaxAge, err = keychain.Span(age); err != nil {
			return p, diag.New(diag.Usage, "reading %s: %q is not a length of time such as 7d or 36h", envMaxAge, age)
		}
	}
	return p, nil
}

func trustRoots(list string) ([]sign.Fingerprint, error) {
	var out []sign.Fingerprint
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		fp, err := sign.ParseFingerprint(word)
		if err != nil {
			return nil, diag.New(diag.Usage, "reading %s: %q is not a fingerprint of 64 lower-case hexadecimal digits", envTrustRoot, word).WithReason("fingerprint")
		}
		out = append(out, fp)
	}
	return out, nil
}

// rootPaths returns the path of --trust-root. A path inside the project is an error:
// the author of the project would choose which keys are trusted.
func (e *Env) rootPaths(project string) ([]string, error) {
	word := e.TrustRoot
	if word == "" {
		return nil, nil
	}
	path := e.Path(word)
	if project != "" && (within(Resolved(project), Resolved(path)) || within(project, path)) {
		return nil, diag.New(diag.Usage, "reading flag --trust-root: %q is in the project, which cannot bring its own trust", word).
			WithReason("trust_root_inside").
			WithDetail("variable", envTrustRoot)
	}
	return []string{path}, nil
}

// Resolved returns a path without links, or the clean path if it cannot be followed.
func Resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil &&
		rel != ".." &&
		!strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// loadTrust reads the documents and remembers the revocations that it meets for
// the first time.
func (p *Project) loadTrust(ctx context.Context) (err error) {
	if p.TrustParams, err = p.Env.trustParams(p.Dirs, p.Spaces.ProjectDir); err != nil {
		return err
	}
	tracked := p.dropTrackedTrust(ctx)
	p.Keys = p.newKeychain()
	p.TrustParams.Runtime = p.Keys.RuntimeDocument
	p.openMemo()                     // in the state directory, unless the project brought that
	if p.TrustParams.UserDir != "" { // before the documents are read
		unfinished := p.Keys.Finish(ctx, func(dir string) string {
			return p.Env.trackedWith(ctx, p.resolvedDir(), dir)
		})
		p.BadTrust = append(p.BadTrust, unfinished...)
	}
	store, bad := trust.Load(p.TrustParams)
	p.Keys.Trust = store
	p.Trust, p.BadTrust = store, slices.Concat(bad, tracked, p.BadTrust)
	if p.Dirs.Trust() == "" &&
		len(p.TrustParams.Roots) == 0 &&
		len(p.TrustParams.RootPaths) == 0 {
		f := diag.Warnf(diag.FileSystemError, 0, 0, "the environment names no home directory, so none of your keys and grants is read")
		f.Path = "HOME"
		p.BadTrust = append(p.BadTrust, f.WithReason("no_home"))
	}
	for _, fp := range p.TrustParams.Roots {
		if _, known := p.Trust.Key(fp); !known {
			f := diag.Warnf(diag.KeyUnknown, 0, 0, "%s names key %s, and no document of the project is about it", envTrustRoot, fp.Short())
			f.Path = p.TrustParams.ProjectDir
			p.BadTrust = append(p.BadTrust, f)
		}
	}
	if err := trust.Remember(p.TrustParams, p.Trust); err != nil {
		f := diag.Warnf(diag.FileSystemError, 0, 0, "%v", err)
		f.Path = p.TrustParams.StateDir
		p.BadTrust = append(p.BadTrust, f)
	}
	for i := range p.BadTrust {
		p.BadTrust[i].Path = InProject(p.Spaces.ProjectDir, p.BadTrust[i].Path)
	}
	return nil
}

// newKeychain returns the keychain of the user, without trust documents.
func (p *Project) newKeychain() *keychain.Keychain {
	params := p.Env.KeyParams(p.Dirs)
	params.Record = p.recordDocuments
	return keychain.New(params)
}

// recordDocuments records trust documents that a key of the user signed.
func (p *Project) recordDocuments(ctx context.Context, in space.Name, files ...trust.File) error {
	return p.Recorder().Documents(ctx, in, files...)
}

func userID() string {
	return strconv.Itoa(os.Getuid())
}

// InProject returns a path of the project as findings show them, any other as it
// is.
func InProject(project, path string) string {
	if project == "" || !within(project, path) {
		return path
	}
	rel, err := filepath.Rel(project, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// ProjectTrust returns the project's trust folder.
func (p *Project) ProjectTrust() (string, error) {
	if _, err := p.NeedProject(); err != nil {
		return "", err
	}
	return p.TrustParams.ProjectDir, nil
}
