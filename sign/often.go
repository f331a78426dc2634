package sign

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"sync"
	"sync/atomic"

	"filippo.io/edwards25519"
)

// A walk verifies thousands of signatures of a few keys. For a key that is used often,
// multiples of its point are computed once; a verification then needs a quarter of the
// additions of crypto/ed25519, and no doublings. It computes the same point and compares
// the same bytes.
const (
	oftenUsed = 80 // verifications by one key after which its multiples cost as much as they would have saved
	maxOften  = 4  // keys with multiples, 655 kB each
	maxUsed   = 64 // keys that are counted
)

// multiples has j+1 times 256^i times a point in row i, column j.
// From the 257th signature of a key on, for up to four keys of a process. Tests compare the
// result with crypto/ed25519, also for keys of small and mixed order.
type multiples [32][128]edwards25519.Point

func newMultiples(p *edwards25519.Point) *multiples {
	m := new(multiples)
	step := new(edwards25519.Point).Set(p)
	for i := range m {
		m[i][0].Set(step)
		for j := 1; j < len(m[i]); j++ {
			m[i][j].Add(&m[i][j-1], step)
		}
		last := &m[i][len(m[i])-1]
		step.Add(last, last)
	}
	return m
}

// addTo adds k times the point to p. The time depends on k, which is public here.
func (m *multiples) addTo(p *edwards25519.Point, k *edwards25519.Scalar) {
	carry := 0
	for i, b := range k.Bytes() { // below 2^253, so the last digit has no carry
		digit := int(b) + carry
		if carry = 0; digit > 128 {
			digit = digit - 256
			carry = 1
		}
		switch {
		case digit > 0:
			p.Add(p, &m[i][digit-1])
		case digit < 0:
			p.Subtract(p, &m[i][-digit-1])
		}
	}
}

var baseMultiples = sync.OnceValue(func() *multiples {
	return newMultiples(edwards25519.NewGeneratorPoint())
})

// oftenKey is a key with the multiples of its negated point.
type oftenKey struct {
	public  [ed25519.PublicKeySize]byte
	negated *multiples
}

func newOftenKey(pub ed25519.PublicKey) *oftenKey {
	p, err := new(edwards25519.Point).SetBytes(pub)
	if err != nil {
		return nil
	}
	return &oftenKey{[ed25519.PublicKeySize]byte(pub), newMultiples(p.Negate(p))}
}

// valid is ed25519.Verify.
func (k *oftenKey) valid(msg, sig []byte) bool {
	if len(sig) != ed25519.SignatureSize {
		return false
	}
	s, err := edwards25519.NewScalar().SetCanonicalBytes(sig[32:])
	if err != nil {
		return false
	}
	h := sha512.New()
	h.Write(sig[:32])
	h.Write(k.public[:])
	h.Write(msg)
	hash, err := edwards25519.NewScalar().SetUniformBytes(h.Sum(make([]byte, 0, sha512.Size)))
	if err != nil {
		return false
	}
	r := edwards25519.NewIdentityPoint()
	baseMultiples().addTo(r, s)
	k.negated.addTo(r, hash)
	return bytes.Equal(sig[:32], r.Bytes())
}

// usedKey counts the verifications by a key.
type usedKey struct {
	count atomic.Int64
	often atomic.Pointer[oftenKey]
}

// usedKeys are the keys that this process verified with.
type usedKeys struct {
	mu    sync.Mutex
	keys  map[[ed25519.PublicKeySize]byte]*usedKey
	often int
}

var used usedKeys

// of returns the counter of a key, nil for one that is not counted.
func (u *usedKeys) of(pub ed25519.PublicKey) *usedKey {
	if len(pub) != ed25519.PublicKeySize {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	key := [ed25519.PublicKeySize]byte(pub)
	k := u.keys[key]
	if k == nil && len(u.keys) < maxUsed {
		if u.keys == nil {
			u.keys = map[[ed25519.PublicKeySize]byte]*usedKey{}
		}
		k = &usedKey{}
		u.keys[key] = k
	}
	return k
}

// permit reports whether one more key may have multiples.
func (u *usedKeys) permit() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.often == maxOften {
		return false
	}
	u.often++
	return true
}

// valid reports what ed25519.Verify does.
func (u *usedKeys) valid(pub ed25519.PublicKey, msg, sig []byte) bool {
	k := u.of(pub)
	if k == nil {
		return ed25519.Verify(pub, msg, sig)
	}
	if often := k.often.Load(); often != nil {
		return often.valid(msg, sig)
	}
	if k.count.Add(1) == oftenUsed && u.permit() {
		k.often.Store(newOftenKey(pub))
	}
	return ed25519.Verify(pub, msg, sig)
}
