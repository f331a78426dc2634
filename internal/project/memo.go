package project

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/memo"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
)

// MemoDir is the directory of the memo below the directory of the user's state, which no
// confined program can read or write.
const MemoDir = "memo"

// openMemo sets the memo of the user. In CI the memo is not used: a machine that starts with an
// empty home computes everything, and one that keeps its home must not depend on it. Root
// in the place of a user would leave files there that the user cannot read.
func (p *Project) openMemo() {
	if p.Dirs.State == "" ||
		p.Env.NoMemo ||
		p.Env.InCI() ||
		p.Env.sudoUser() != "" {
		return
	}
	p.memo = memo.New(filepath.Join(p.Dirs.State, MemoDir))
	p.TrustParams.Proofs = proofs{p.memo}
}

// Memo returns the memo, nil without one.
func (p *Project) Memo() *memo.Memo {
	return p.memo
}

// proofs are the signatures that the memo knows as valid.
type proofs struct{ memo *memo.Memo }

// Known implements sign.Proofs.
func (p proofs) Known(s sign.Signature) bool {
	return p.memo.Known(proofKind(s), fact(s))
}

// Valid implements sign.Proofs.
func (p proofs) Valid(s sign.Signature) {
	p.memo.Add(proofKind(s), fact(s))
}

// KnownKey implements sign.Proofs.
func (p proofs) KnownKey(pub [ed25519.PublicKeySize]byte) bool {
	return p.memo.Known(memo.Key, sha256.Sum256(pub[:]))
}

// ValidKey implements sign.Proofs.
func (p proofs) ValidKey(pub [ed25519.PublicKeySize]byte) {
	p.memo.Add(memo.Key, sha256.Sum256(pub[:]))
}

func proofKind(s sign.Signature) memo.Kind {
	if s.File {
		return memo.File
	}
	return memo.Signature
}

// fact returns the digest of everything that the validity of a signature depends on. The
// statement names the key as well; that must not be the only reason why an entry about
// one key is not used for another.
func fact(s sign.Signature) [sha256.Size]byte {
	return sha256.Sum256(append(s.Key[:], s.Digest[:]...))
}

// plainItems are the items in which the memo knows that nothing is to be found.
type plainItems struct {
	memo  *memo.Memo
	build [sha256.Size]byte // of the program that searched
}

// Known implements resolve.Plain.
func (p plainItems) Known(digest [sha256.Size]byte) bool {
	return p.memo.Known(memo.Plain, p.fact(digest))
}

// Add implements resolve.Plain.
func (p plainItems) Add(digest [sha256.Size]byte) {
	p.memo.Add(memo.Plain, p.fact(digest))
}

// plain returns the memo for resolvers of a walk, nil without one.
func (p *Project) plain() resolve.Plain {
	if p.memo == nil {
		return nil
	}
	return plainItems{p.memo, p.Env.program()}
}

// chains are the chains that the memo knows as complete: each element names the next one
// as its executor, and they need nothing else.
type chains struct {
	p     *Project
	build [sha256.Size]byte // of the program that judged
}

// chains returns the memo for the verbs, nil without one.
func (p *Project) chains() primary.Chains {
	if p.memo == nil {
		return nil
	}
	return chains{p, p.Env.program()}
}

// Known implements primary.Chains. The lock entry of the item is a hint, as it could be
// guessed: the elements are found and verified as in any chain.
func (c chains) Known(
	ctx context.Context,
	it *resolve.Item,
	entry *lock.Item,
) []*resolve.Item {
	if it.Usable() != nil {
		return nil
	}
	if it.Ref.Kind != item.Tool { // it names no other item, or it would not be plain
		return []*resolve.Item{it}
	}
	if entry == nil && c.p.Lock != nil {
		entry = c.p.Lock.Lock.Item(it.Ref)
	}
	if entry == nil ||
		len(entry.Chain) < 2 ||
		len(entry.Chain) > exec.MaxChain {
		return nil
	}
	out := append(make([]*resolve.Item, 0, len(entry.Chain)), it)
	for _, link := range entry.Chain[1:] {
		next, err := c.p.Resolver.InspectFrom(
			ctx,
			link.Ref,
			out[len(out)-1].Root,
		)
		if err != nil || next.Usable() != nil {
			return nil
		}
		out = append(out, next)
	}
	f, ok := c.fact(out)
	if !ok || !c.p.memo.Known(memo.Chain, f) {
		return nil
	}
	return out
}

// Add implements primary.Chains.
func (c chains) Add(elements []*resolve.Item) {
	if f, ok := c.fact(elements); ok {
		c.p.memo.Add(memo.Chain, f)
	}
}

// fact returns the digest of all that the judgement of a chain depends on, except the
// verdicts of its elements and the search for them.
func (c chains) fact(elements []*resolve.Item) ([sha256.Size]byte, bool) {
	in := append(make([]byte, 0, 512), c.build[:]...)
	for _, it := range elements {
		d, ok := it.ReadDigest()
		if !ok {
			return [sha256.Size]byte{}, false
		}
		in = append(append(in, d[:]...), it.Root.Space...)
		in = strconv.AppendBool(append(in, ' '), it.Root.Bundled())
	}
	return sha256.Sum256(in), true
}

// requests are the capabilities that the files of bundles request. The zero value knows none.
type requests struct {
	memo  *memo.Memo
	build [sha256.Size]byte // of the program that read the files
}

func (p *Project) requests() requests {
	if p.memo == nil {
		return requests{}
	}
	return requests{p.memo, p.Env.program()}
}

// Known reports whether the files with a sum are known to request exactly caps, which are
// sorted. False states nothing.
func (r requests) Known(table *extract.Table, sum string, caps []string) bool {
	if r.memo == nil {
		return false
	}
	f, ok := r.fact(table, sum, caps)
	return ok && r.memo.Known(memo.Requests, f)
}

// Add states that the files request exactly caps, which are sorted.
func (r requests) Add(table *extract.Table, sum string, caps []string) {
	if r.memo == nil {
		return
	}
	if f, ok := r.fact(table, sum, caps); ok {
		r.memo.Add(memo.Requests, f)
	}
}

func (r requests) fact(
	table *extract.Table,
	sum string,
	caps []string,
) ([sha256.Size]byte, bool) {
	readers, ok := table.Digest()
	in := slices.Concat(r.build[:], readers[:])
	for _, s := range append([]string{sum}, caps...) {
		in = append(binary.LittleEndian.AppendUint32(in, uint32(len(s))), s...)
	}
	return sha256.Sum256(in), ok
}

func (p plainItems) fact(digest [sha256.Size]byte) [sha256.Size]byte {
	return sha256.Sum256(append(p.build[:], digest[:]...))
}

// ProgramText is program as a text.
func (e *Env) ProgramText() string {
	d := e.program()
	return hex.EncodeToString(d[:])
}

// program identifies the program: another version may find more in the same file. Builds
// during development have the same version, so the file itself is part of it.
func (e *Env) program() [sha256.Size]byte {
	text := e.Version + "\n" + e.Build + "\n" + e.Released.String() + "\n"
	if fi, err := os.Stat(e.Self); err == nil {
		text += fmt.Sprint(fi.Size(), fi.ModTime().UnixNano())
	}
	return sha256.Sum256([]byte(text))
}
