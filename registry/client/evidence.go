package client

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/registry/log"
)

// Directories of evidence. A directory in the first stops every operation with the
// registry until Forgive moves it to the second.
const (
	evidenceDir = "equivocation"
	forgivenDir = "forgiven"
	movedDir    = "moved"
)

// evidence is what two checkpoints of one log contradict each other in.
type evidence struct {
	newer, older *log.Checkpoint
	fork         *forkError
	from         string // where the contradicting one was read
}

func noteName(t log.Tree) string {
	return fmt.Sprintf("notes/%d-%s", t.Size, hex.EncodeToString(t.Root[:8]))
}

// note returns the checkpoint that this account saw for a tree, nil if it saw none.
func (h *Host) note(t log.Tree) *log.Checkpoint {
	b, err := openat.ReadRegular(h.dir.Path(noteName(t)), log.MaxCheckpoint)
	if err != nil {
		return nil
	}
	for _, key := range h.chain {
		v := h.verifier(key)
		v.Quorum = 0
		cp, err := v.Verify(b)
		if err == nil && cp.Tree == t {
			return cp
		}
	}
	return nil
}

// equivocation writes the evidence, which stops all operations with the registry, and
// returns the error.
// A lock whose checkpoint the log lacks is not a proof: it is not signed by the log, and an edited
// one could stop a registry for everyone.
func (h *Host) equivocation(e *evidence) error {
	name := h.c.p.Now().UTC().Format("20060102T150405Z")
	dir := h.dir.Path(evidenceDir + "/" + name)
	for file, text := range h.files(e) {
		err := h.dir.Write(
			path.Join(evidenceDir, name, file),
			[]byte(text),
			0o600,
		)
		if err != nil {
			return diag.New(diag.LogEquivocation, "registry %s signed two histories; writing the evidence failed: %w", h.Name, err)
		}
	}
	return h.twoHistories(dir, e.older.Tree, e.newer.Tree)
}

func (h *Host) twoHistories(dir string, older, newer log.Tree) error {
	return diag.New(diag.LogEquivocation, "registry %s signed two histories of its log; the evidence is in %s", h.Name, dir).
		WithReason("equivocation").
		WithDetail("host", h.Name).
		WithDetail("evidence", dir).
		WithDetail("expected", older.String()).
		WithDetail("found", newer.String())
}

// files returns the evidence for a reader who trusts neither the registry nor rye.
func (h *Host) files(e *evidence) map[string]string {
	return map[string]string{
		"older.note": string(e.older.Note),
		"newer.note": string(e.newer.Note),
		"prefix":     e.fork.prefix.String() + "\n",
		"proof":      e.fork.proof.String(),
		"log-keys":   strings.Join(h.chain, "\n") + "\n",
		"README":     evidenceText(e),
		"where":      e.from + "\n" + h.c.p.Now().UTC().Format(time.RFC3339) + "\n",
	}
}

func evidenceText(e *evidence) string {
	text := "A key in log-keys signed both older.note and newer.note, which are C2SP checkpoints.\n"
	if e.older.Tree.Size == e.newer.Tree.Size {
		return text + "Both have the same number of entries and different roots: one log cannot have both.\n"
	}
	return text + fmt.Sprintf(`The tree of newer.note contains, as its first %d entries, the tree in the file prefix:
proof is the RFC 6962 consistency proof from prefix to newer.note, one hash in base64 per
line. The root of older.note, which has as many entries, differs: the registry
signed two histories.
`, e.older.Tree.Size)
}

// unproven is the error for a lock that names a tree which the log does not contain.
func (h *Host) unproven(k Known, forked *forkError) error {
	return diag.New(diag.LogEquivocation, "comparing %s with registry %s: the log does not contain the recorded state; either the registry showed another history to the author of the file, or the file was edited", k.From, h.Name).
		WithReason("registry_lock_fork").
		WithDetail("host", h.Name).
		WithDetail("from", k.From).
		WithDetail("expected", k.Tree.String()).
		WithDetail("found", forked.prefix.String())
}

// stopped returns an error if there is evidence that no user has dealt with.
func (h *Host) stopped() error {
	list, err := os.ReadDir(h.dir.Path(evidenceDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return diag.New(diag.FileSystemError, "reading the evidence about registry %s: %w", h.Name, err)
	}
	for _, x := range list {
		if !x.IsDir() {
			continue
		}
		dir := h.dir.Path(evidenceDir + "/" + x.Name())
		return diag.New(diag.LogEquivocation, "opening registry %s: it signed two histories of its log, so nothing of it is used; the evidence is in %s", h.Name, dir).
			WithReason("equivocation").WithDetail("host", h.Name).WithDetail("evidence", dir)
	}
	return nil
}

// Evidence returns the directories of evidence that stop a registry.
func (c *Client) Evidence(host string) []string {
	base := c.dirOf(host)
	list, _ := os.ReadDir(base.Path(evidenceDir)) // none
	var out []string
	for _, x := range list {
		if x.IsDir() {
			out = append(out, base.Path(evidenceDir+"/"+x.Name()))
		}
	}
	return out
}

// Forgive permits operations with a registry again: it moves one directory of evidence
// away and forgets the checkpoints and indexes that the account kept, so that the next
// use begins as the first one. It returns where the evidence is.
func (c *Client) Forgive(host, dir string) (string, error) {
	base := c.dirOf(host)
	list := c.Evidence(host)
	abs, err := filepath.Abs(dir)
	if err != nil || !slices.Contains(list, filepath.Clean(abs)) {
		if len(list) == 0 {
			return "", diag.New(diag.Usage, "forgiving registry %s: there is no evidence against it", host)
		}
		return "", diag.New(diag.Usage, "forgiving registry %s: %q is not evidence about it; that is in %s", host, dir, strings.Join(list, ", ")).
			WithReason("registry_evidence").
			WithDetail("evidence", list[0]).
			WithDetail("host", host)
	}
	to := base.Path(forgivenDir + "/" + filepath.Base(abs))
	if err := base.MkdirAll(forgivenDir); err == nil {
		err = os.Rename(abs, to)
	}
	if err != nil {
		return "", diag.New(diag.FileSystemError, "forgiving registry %s: %w", host, err)
	}
	return to, c.forget(host)
}

// forget removes the checkpoints, tiles and indexes of a registry, and how far its
// namespaces were monitored: another history is monitored from its first entry. Evidence stays.
func (c *Client) forget(host string) error {
	base := c.dirOf(host)
	for _, name := range []string{latestName, "notes", tilesDir, indexDir, rotationsDir, searchDir, monitorDir, revokedName, revokedDir, headsName} {
		err := base.RemoveAll(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return diag.New(diag.FileSystemError, "forgetting registry %s: %w", host, err)
		}
	}
	return nil
}

// Forget is what removing the pin of a registry does to its state.
func (c *Client) Forget(host string) error {
	return c.forget(host)
}
