package doc

import (
	"strconv"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// subject is what the signature of a document is about: its kind and the stem
// of its file name. Each group of kinds has its own use, so that a signature
// for one group is not valid in another.
func subject(kind, stem string) sign.Subject {
	use := sign.UseTrust
	switch kind {
	case KindRevocation, KindRevocations, KindReleaseRevocation:
		use = sign.UseRevocation
	case KindEndorsement:
		use = sign.UseEndorsement
	case KindRotation:
		use = sign.UseRotation
	}
	return sign.Subject{Use: use, Kind: kind, ID: stem}
}

// FileName returns the only name of a document of this kind about key, if the
// key itself or one of the user's own keys signs it.
func FileName(kind string, key sign.Fingerprint) string {
	return stemOf(kind, key) + ".toml"
}

// FileNameBy returns the only name of a document of this kind about key, if the
// key by signs it: an endorsement, or a revocation by another key.
func FileNameBy(kind string, key, by sign.Fingerprint) string {
	return stemBy(kind, key, by) + ".toml"
}

func stemOf(kind string, key sign.Fingerprint) string {
	return kind + "-" + key.String()
}

func stemBy(kind string, key, by sign.Fingerprint) string {
	switch kind {
	case KindEndorsement:
		return "endorse-" + key.String() + "-by-" + by.String()
	case KindRevocations:
		return kind + "-by-" + by.String()
	}
	return stemOf(kind, key) + "-by-" + by.String()
}

func stemOfRelease(content item.Digest, by sign.Fingerprint) string {
	return KindReleaseRevocation + "-" + content.Hex() + "-by-" + by.String()
}

func stemOfPublisher(p *Publisher, by sign.Fingerprint) string {
	return KindPublisher + "-" + p.Name + "-" + strconv.Itoa(p.Version) + "-by-" + by.String()
}
