package lock

import (
	"maps"
	"strings"

	"github.com/ryeos/rye/diag"
)

// collisions reports required ids that differ by case only, which are one
// repository on most forges, two addresses of one bundle, and invalid replacements.
func (p *manifestParser) collisions() {
	p.caseCollisions()
	p.sameRepository()
	p.invalidReplacements()
}

func (p *manifestParser) caseCollisions() {
	seen := map[string]ID{}
	for _, id := range SortedIDs(maps.Keys(p.m.Require)) {
		low := strings.ToLower(id.String())
		if other, taken := seen[low]; taken {
			pos := p.m.Position("require", id.String())
			p.out = append(p.out, diag.Errorf(diag.ValidationFailed, pos.Line, pos.Column,
				"%s and %s differ by case only: keep the one that the repository uses", id, other))
			continue
		}
		seen[low] = id
	}
}

func (p *manifestParser) sameRepository() {
	var before []Look
	for _, id := range SortedIDs(maps.Keys(p.m.Require)) {
		look := LookOf(id)
		for _, other := range before {
			if look.Same(other) &&
				!strings.EqualFold(id.String(), other.ID.String()) {
				pos := p.m.Position("require", id.String())
				p.out = append(p.out, diag.Errorf(
					diag.ValidationFailed,
					pos.Line,
					pos.Column,
					"%s and %s are one bundle: keep one address",
					other.ID,
					id,
				))
			}
		}
		before = append(before, look)
	}
}

// invalidReplacements reports replacements of replaced bundles, and replacements of
// which both bundles are required: the version would be ambiguous.
func (p *manifestParser) invalidReplacements() {
	for _, id := range SortedIDs(maps.Keys(p.m.Replace)) {
		by := p.m.Replace[id].ID
		_, repeated := p.m.Replace[by]
		pos := p.m.Position("replace", id.String())
		switch {
		case by.IsZero():
		case repeated:
			p.out = append(p.out, diag.Errorf(
				diag.ValidationFailed,
				pos.Line,
				pos.Column,
				"%s replaces %s and is itself replaced: name the final replacement",
				by,
				id,
			))
		case p.m.Require[by] != "" && p.m.Require[id] != "":
			p.out = append(p.out, diag.Errorf(
				diag.ValidationFailed,
				pos.Line,
				pos.Column,
				"%s replaces %s, and both are required: remove one requirement",
				by,
				id,
			))
		}
	}
}
