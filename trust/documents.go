package trust

import "github.com/ryeos/rye/trust/doc"

// The documents that Load read, with where it found each.
type (
	keyDocument struct {
		*doc.Key
		origin
	}
	permission struct {
		*doc.Permission
		origin
	} // a grant or an endorsement
	revocation struct {
		*doc.Revocation
		origin
	}
	rotation struct {
		*doc.Rotation
		origin
	}
	revocationList struct {
		*doc.RevocationList
		origin
	}
	releaseRevocation struct {
		*doc.ReleaseRevocation
		origin
	}
	publisherCopy struct {
		*doc.PublisherCopy
		origin
	}
	registryPin struct {
		*doc.Registry
		origin
	}
)

// origin is where Load found a document.
type origin struct {
	tier      Tier
	inProject bool // the file is in the project, whatever its tier
	root      bool // the caller named it as an anchor
	seen      bool // it is remembered from an earlier call, which verified it
	served    bool // a registry served it to an earlier call, which did not verify it
}

// documents are all documents whose kind is known, in the order of reading.
type documents struct {
	keys         []*keyDocument
	grants       []*permission
	endorsements []*permission
	revocations  []*revocation
	rotations    []*rotation
	lists        []*revocationList
	releases     []*releaseRevocation
	publishers   []*publisherCopy
	registries   []*registryPin
}

func (all *documents) add(d doc.Document, o origin) {
	switch d := d.(type) {
	case *doc.Key:
		all.keys = append(all.keys, &keyDocument{d, o})
	case *doc.Grant:
		all.grants = append(all.grants, &permission{&d.Permission, o})
	case *doc.Endorsement:
		all.endorsements = append(all.endorsements, &permission{&d.Permission, o})
	case *doc.Revocation:
		all.revocations = append(all.revocations, &revocation{d, o})
	case *doc.Rotation:
		all.rotations = append(all.rotations, &rotation{d, o})
	case *doc.RevocationList:
		all.lists = append(all.lists, &revocationList{d, o})
	case *doc.ReleaseRevocation:
		all.releases = append(all.releases, &releaseRevocation{d, o})
	case *doc.PublisherCopy:
		all.publishers = append(all.publishers, &publisherCopy{d, o})
	case *doc.Registry:
		all.registries = append(all.registries, &registryPin{d, o})
	}
}
