package sign

import (
	"bytes"
	"crypto/ed25519"
	"sync/atomic"

	"filippo.io/edwards25519"

	"github.com/ryeos/rye/diag"
)

// lastGood is the key that passed CheckKey last: a hook signs many files with one.
var lastGood atomic.Pointer[[ed25519.PublicKeySize]byte]

// CheckKey returns KEY_WEAK unless pub is the canonical encoding of a point of
// the prime-order group. It is called when a key becomes known, and before it signs: the
// standard library accepts the identity point, under which one signature
// verifies every message, and mixed-order points, on which implementations
// disagree.
func CheckKey(pub []byte) error {
	return CheckKeyKnown(pub, nil)
}

// CheckKeyKnown is CheckKey with proofs that may know the key. They can be nil.
func CheckKeyKnown(pub []byte, proofs Proofs) error {
	if len(pub) != ed25519.PublicKeySize {
		return weak("it has %d bytes, want %d", len(pub), ed25519.PublicKeySize)
	}
	key := [ed25519.PublicKeySize]byte(pub)
	if proofs != nil && proofs.KnownKey(key) {
		return nil
	}
	if good := lastGood.Load(); good == nil || *good != key {
		if err := checkPoint(pub); err != nil {
			return err
		}
		lastGood.Store(&key)
	}
	if proofs != nil {
		proofs.ValidKey(key)
	}
	return nil
}

func checkPoint(pub []byte) error {
	p, err := new(edwards25519.Point).SetBytes(pub)
	if err != nil {
		return weak("it is not a point of the curve")
	}
	if !bytes.Equal(p.Bytes(), pub) {
		return weak("it is not written canonically")
	}
	identity := edwards25519.NewIdentityPoint()
	if new(edwards25519.Point).MultByCofactor(p).Equal(identity) == 1 {
		return weak("its order is small")
	}
	if timesOrder(p).Equal(identity) != 1 {
		return weak("it has a part of small order")
	}
	return nil
}

// timesOrder returns [L]p as [L-1]p + p, since scalars are modulo L.
func timesOrder(p *edwards25519.Point) *edwards25519.Point {
	one, _ := edwards25519.NewScalar().SetCanonicalBytes(append(
		[]byte{1},
		make([]byte, 31)...,
	))
	minusOne := edwards25519.NewScalar().Negate(one)
	// Unlike VarTimeDoubleScalarBaseMult this needs no table of the base point, which
	// takes longer than the rest.
	q := new(edwards25519.Point).VarTimeMultiScalarMult(
		[]*edwards25519.Scalar{minusOne},
		[]*edwards25519.Point{p},
	)
	return q.Add(q, p)
}

func weak(format string, args ...any) *diag.Error {
	return diag.New(diag.KeyWeak, "checking a public key: "+format, args...)
}

// selfCheck is the cheap part of CheckKey, for every verification: the key has the
// expected fingerprint, and is not one under which one signature verifies
// everything.
func selfCheck(pub ed25519.PublicKey, want Fingerprint) *diag.Error {
	switch {
	case len(pub) != ed25519.PublicKeySize:
		return weak("it has %d bytes, want %d", len(pub), ed25519.PublicKeySize)
	case FingerprintOf(pub) != want:
		return weak("it does not have the fingerprint %s", want.Short())
	case smallOrder(pub):
		return weak("its order is small or it is not written canonically")
	}
	return nil
}

// smallOrder reports whether b encodes a point of small order, canonically or
// not, or any number of 2^255-19 and above.
func smallOrder(b []byte) bool {
	var y [32]byte
	copy(y[:], b)
	y[31] &= 0x7f
	switch {
	case y == [32]byte{}, y == [32]byte{1}:
		return true
	case y[31] == 0x7f && y[0] >= 0xec && bytes.Count(y[1:31], []byte{0xff}) == 30:
		return true // -1 and everything not canonical
	}
	return y == [32]byte{0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
		0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05} ||
		y == [32]byte{0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
			0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a}
}
