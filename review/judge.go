package review

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// File is a file with a review.
type File struct {
	Path  string // the last element names the key
	Bytes []byte
}

// Rule requires reviewers. The zero Rule requires one review by any trusted key.
type Rule struct {
	Reviewers []sign.Fingerprint // whose reviews are used; nil: the reviews of every trusted key are used
	Reviews   int                // how many of them must accept a component; 0: 1
}

// Params is what Judge decides about.
type Params struct {
	Trust      *trust.Store
	Source     string      // the id of the source
	Components []Component // of the list of files
	Reviews    []File
	Rules      []Rule // all of them apply
	// Locked reports whether the lock records the review with this digest as one by the key,
	// so that it stays usable after the key expired. Nil: the lock does not.
	Locked func(sign.Fingerprint, item.Digest) bool
}

// Result is how far one component is accepted.
type Result struct {
	Component Component
	Verdict   trust.Verdict // its status is trust.Adopted if the component may be used
	Reviewers []Reviewer    // the trusted ones that accept it, by key; one for each person's succession of keys
}

// Reviewer is a signer of a review that a verdict uses.
type Reviewer struct {
	Key    sign.Fingerprint
	Owner  string // safe to print
	Digest item.Digest
	Shown  string
}

// Unsigned ends each text that states that a component is adopted.
const Unsigned = "not signed by its publisher"

// Judge decides about each component, in their order. A component may be used if enough
// different keys, which are trusted now to sign its kind and id, list its name and sum.
// Everything that is missing or cannot be read only removes acceptance.
func Judge(p Params) []Result {
	var all []*opened
	for _, f := range p.Reviews {
		all = append(all, p.open(f))
	}
	out := make([]Result, len(p.Components))
	for i, c := range p.Components {
		out[i] = p.judge(c, all)
	}
	return out
}

// opened is a parsed review.
type opened struct {
	File
	review *Review // nil: refused for all components
	line   sign.Line
	digest item.Digest
	proved bool // the signature is valid, and only the scope depends on the component
	code   diag.Code
	why    string
}

func (p Params) open(f File) *opened {
	o := &opened{File: f, digest: item.DigestOf(f.Bytes)}
	refuse := func(code diag.Code, why string) *opened {
		o.review = nil
		o.code = code
		o.why = why
		return o
	}
	// The name is not signed. A review under the name of a second key must not look like two.
	key, ok := ParseFileName(path.Base(f.Path))
	if !ok {
		return refuse(diag.SigInvalid, "its name is not "+filePrefix+"KEY"+fileSuffix)
	}
	r, fs := Parse(f.Bytes)
	if r == nil {
		return refuse(fs[0].Code, fs[0].Message)
	}
	o.review = r
	sp, err := sign.SplitFile(f.Bytes, sign.Hash())
	switch {
	case err != nil:
		return refuse(diag.CodeOf(err), err.Error())
	case !sp.Signed:
		return refuse(diag.Unsigned, "it has no signature")
	case sp.Line.Key != key:
		return refuse(diag.SigInvalid, "its name has the key "+key.Short()+", its signature line "+sp.Line.Key.Short())
	case r.Source != p.Source:
		return refuse(diag.SigInvalid, fmt.Sprintf("it is about %s, and is in the directory of %s", r.Source, p.Source))
	}
	o.line = sp.Line
	return o
}

// verdict returns the verdict on a review about one component.
func (p Params) verdict(o *opened, c Component) trust.Verdict {
	in := trust.Input{
		Path:    o.Path,
		Bytes:   o.Bytes,
		Digest:  o.digest,
		Style:   sign.Hash(),
		Subject: Subject(p.Source),
		About:   sign.Subject{Use: sign.UseReview, Kind: c.Kind, ID: c.Name},
		MaxSize: MaxReview,
		Text:    true,
	}
	if p.Locked != nil {
		in.Locked = func(fp sign.Fingerprint) bool {
			return p.Locked(fp, o.digest)
		}
	}
	var v trust.Verdict
	// A signature is computed once: for the other components only the scope is judged.
	if o.proved {
		v = p.Trust.Judge(in, o.line)
	} else {
		v = p.Trust.Verify(in)
	}
	if v.OK() &&
		(v.Agent || v.Runtime || !Personal(p.Trust, v.Signer)) {
		return v.Refuse(diag.Scope, "key "+v.Signer.Short()+" is not the key of a person")
	}
	o.proved = o.proved || v.OK()
	return v
}

// Personal reports whether no document states that a key is one of an agent, of a run or
// of grants.
func Personal(s *trust.Store, key sign.Fingerprint) bool {
	return !slices.ContainsFunc(s.Documents(key), func(d *doc.Key) bool {
		return d.KeyKind != doc.KeyPerson && d.KeyKind != ""
	})
}

func (p Params) judge(c Component, all []*opened) Result {
	out := Result{Component: c}
	var refusal trust.Verdict
	refuse := func(v trust.Verdict) {
		if refusal.Code == "" {
			refusal = v
		}
	}
	for _, o := range all {
		if o.review == nil {
			refuse(trust.Verdict{}.Refuse(
				o.code,
				path.Base(o.Path)+": "+o.why,
			))
			continue
		}
		a := o.review.Find(c.ID())
		// A second reviewer may read three components of forty.
		if a == nil {
			continue
		}
		v := p.verdict(o, c)
		switch {
		case !v.OK():
			refuse(v)
		case a.Sum != c.Sum || a.From != c.From:
			v = v.Refuse(diag.HashMismatch, fmt.Sprintf(
				"%s accepts other files for %s than %q lists",
				path.Base(o.Path),
				c.ID(),
				FilesName,
			))
			v.Expected = a.Sum
			v.Found = c.Sum
			refuse(v)
		// A person who rotates a key must not be two reviewers.
		case p.counted(out.Reviewers, v.Signer):
		default:
			out.Reviewers = append(out.Reviewers, Reviewer{
				Key:    v.Signer,
				Owner:  v.Owner,
				Digest: o.digest,
				Shown:  o.review.Shown,
			})
			if out.Verdict.Signer == (sign.Fingerprint{}) {
				out.Verdict = v
			}
		}
	}
	rules := p.Rules
	// Without a rule one review is needed: no rule never means no review.
	if len(rules) == 0 {
		rules = []Rule{{}}
	}
	for _, rule := range rules {
		if why := rule.missing(out.Reviewers); why != "" {
			out.Verdict = lacking(refusal, len(out.Reviewers) > 0, why)
			return out
		}
	}
	out.Verdict.Status = trust.Adopted
	out.Verdict.Reasons = []string{"adopted: reviewed by " + Names(out.Reviewers) + "; " + Unsigned}
	return out
}

// lacking returns the verdict on a component that a rule refuses. Without a single
// trusted review, the reason is why the first one is refused.
func lacking(refusal trust.Verdict, some bool, why string) trust.Verdict {
	if refusal.Code == "" || some {
		return trust.Verdict{}.Refuse(diag.Threshold, why)
	}
	return refusal
}

// counted reports whether a key, or a predecessor or successor of it, is a reviewer already.
func (p Params) counted(list []Reviewer, key sign.Fingerprint) bool {
	return slices.ContainsFunc(list, func(r Reviewer) bool {
		return r.Key == key ||
			p.Trust.Succeeds(r.Key, key) ||
			p.Trust.Succeeds(key, r.Key)
	})
}

// missing returns why the rule refuses a component with these reviewers, or "".
func (r Rule) missing(have []Reviewer) string {
	want := max(r.Reviews, 1)
	n := 0
	for _, x := range have {
		if r.Reviewers == nil || slices.Contains(r.Reviewers, x.Key) {
			n++
		}
	}
	if n >= want {
		return ""
	}
	who := "trusted keys"
	if r.Reviewers != nil {
		who = "the reviewers that the trust rules name"
	}
	return fmt.Sprintf("%d of %d required reviews by %s", n, want, who)
}

// Names returns the owners of the keys of reviewers.
func Names(list []Reviewer) string {
	var out []string
	for _, r := range list {
		name := r.Owner
		if name == "" {
			name = r.Key.Short()
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}
