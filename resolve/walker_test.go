package resolve

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// plainSet is a Plain in memory.
type plainSet map[[sha256.Size]byte]bool

func (p plainSet) Known(d [sha256.Size]byte) bool { return p[d] }
func (p plainSet) Add(d [sha256.Size]byte)        { p[d] = true }

// judgement is what a walk reports of an item.
func judgement(it *Item, err error) string {
	if err != nil {
		return fmt.Sprint("error: ", err)
	}
	return fmt.Sprintln(it.Ref, it.Path(), it.Digest, it.Verdict.Status, it.Verdict.Code, it.Verdict.Signer, it.Verdict.Findings, it.Findings, item.DigestOf(it.Bytes) == it.Digest)
}

// TestWalkerMemory reads files with every verdict in random order, of which some are known
// to be plain. Each has the judgement that it has alone, and an item whose metadata
// were read keeps its content while others are read.
func TestWalkerMemory(t *testing.T) {
	h := testkit.New(t)
	var rels []string
	for i := range 12 {
		rel := fmt.Sprintf("knowledge/k%d.md", i)
		rels = append(rels, rel)
		body := entry("project", fmt.Sprintf("k%d", i)) + strings.Repeat("more ", i*i*3)
		switch i % 4 {
		case 0, 1:
			h.Put(h.Project, rel, body)
		case 2:
			h.Write(h.Project, rel, body)
		default:
			h.Write(h.Project, rel, strings.Replace(string(h.Signed(rel, body, h.Key)), "title", "titel", 1))
		}
	}
	rels = append(rels, "knowledge/missing.md", "knowledge/note.txt")
	h.Write(h.Project, "knowledge/note.txt", "no item")
	known := plainSet{}
	params := Params{Spaces: h.Spaces(), Trust: h.Store(), Plain: known, Lenient: true, NoCache: true}
	r := New(params)
	root := r.Roots()[0]
	alone := map[string]string{}
	for _, rel := range rels {
		it, err := New(params).Walker().Walked(t.Context(), root, rel, true)
		alone[rel] = judgement(it, err)
		if err == nil && strings.HasSuffix(rel, "0.md") {
			known.Add(it.plainDigest())
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	w := r.Walker()
	type keep struct {
		it   *Item
		want string
	}
	var kept []keep
	skipped := 0
	for range 300 {
		rel := rels[rng.IntN(len(rels))]
		it, err := w.Walked(t.Context(), root, rel, true)
		got := judgement(it, err)
		if err == nil && it.Skipped {
			skipped++
			if rng.IntN(2) == 0 {
				w.r.Complete(it)
			}
		}
		if got != alone[rel] {
			t.Fatalf("%s is\n%sand alone\n%s", path.Base(rel), got, alone[rel])
		}
		if err == nil && !it.Skipped {
			kept = append(kept, keep{it, judgement(it, nil) + string(it.Bytes) + it.Meta.Title})
		}
	}
	for _, k := range kept {
		if now := judgement(k.it, nil) + string(k.it.Bytes) + k.it.Meta.Title; now != k.want {
			t.Fatalf("an item that was read is now\n%s\nand was\n%s", now, k.want)
		}
	}
	if skipped == 0 || len(kept) == 0 {
		t.Errorf("%d skipped, %d kept", skipped, len(kept))
	}
}

// TestSharedReaders uses the extractors of another resolver only if this one would read the
// same ones.
func TestSharedReaders(t *testing.T) {
	h := testkit.New(t)
	h.Write(h.Project, "tools/"+ExtractorFolder+"/skill/skill_extractor.yaml", "kind: skill\n") // unsigned: skipped with a note
	params := Params{Spaces: h.Spaces(), Trust: h.Store(), Lenient: true}
	r := New(params)
	first := must(r.Table(t.Context()))
	with := func(change func(p *Params)) *Resolver {
		p := params
		p.Readers = r
		change(&p)
		return New(p)
	}
	same := with(func(p *Params) { p.NoCache = true })
	if must(same.Table(t.Context())) != first || len(same.Notes()) == 0 || len(same.Notes()) != len(r.Notes()) {
		t.Errorf("the extractors were read again, or %v are not the notes %v", same.Notes(), r.Notes())
	}
	for name, other := range map[string]*Resolver{
		"keys":   with(func(p *Params) { p.Trust = h.Store() }),
		"spaces": with(func(p *Params) { p.Spaces = &space.Spaces{Roots: slices.Clone(p.Spaces.Roots[1:])} }),
	} {
		if must(other.Table(t.Context())) == first {
			t.Errorf("other %s: the extractors are shared", name)
		}
	}
	if _, err := with(func(p *Params) { p.Lenient = false }).Table(t.Context()); diag.CodeOf(err) != diag.Unsigned {
		t.Errorf("a strict resolver: %v, want %s", err, diag.Unsigned)
	}
}
