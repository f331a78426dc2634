package sign

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"filippo.io/edwards25519"
)

// scalarOf returns the scalar of a number below the order of the group.
func scalarOf(t testing.TB, n *big.Int) *edwards25519.Scalar {
	t.Helper()
	b := n.FillBytes(make([]byte, 32))
	slices.Reverse(b)
	s, err := edwards25519.NewScalar().SetCanonicalBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func groupOrder() *big.Int {
	n, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	return n
}

// TestMultiples multiplies points by the numbers at which a digit or its carry changes.
func TestMultiples(t *testing.T) {
	order := groupOrder()
	numbers := []*big.Int{new(big.Int), new(big.Int).Sub(order, big.NewInt(1))}
	for _, digit := range []int64{1, 127, 128, 129, 255} {
		all := new(big.Int)
		for i := range uint(31) {
			one := new(big.Int).Lsh(big.NewInt(digit), 8*i)
			all.Add(all, one)
			numbers = append(numbers, one, new(big.Int).Set(all))
		}
		top := new(big.Int).Lsh(big.NewInt(0x0f), 248)
		numbers = append(numbers, top.Add(top, all))
	}
	for _, p := range []*edwards25519.Point{edwards25519.NewGeneratorPoint(), new(edwards25519.Point).ScalarBaseMult(goldenScalar(t))} {
		m := newMultiples(p)
		for _, n := range numbers {
			s := scalarOf(t, n)
			got := edwards25519.NewIdentityPoint()
			m.addTo(got, s)
			if want := new(edwards25519.Point).ScalarMult(s, p); got.Equal(want) != 1 {
				t.Errorf("%s times the point is wrong", n)
			}
		}
	}
}

// TestOftenIsVerify compares the two verifications for keys of the prime-order group and
// for all others, with signatures that are valid, altered and chosen.
func TestOftenIsVerify(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.NewChaCha8([32]byte(binary.LittleEndian.AppendUint64(make([]byte, 24), seed)))
	scalar := goldenScalar(t)
	a := new(edwards25519.Point).ScalarBaseMult(scalar)
	keys := [][]byte{a.Bytes()}
	for _, tor := range torsion(t)[1:] {
		keys = append(keys, new(edwards25519.Point).Add(a, tor).Bytes())
	}
	keys = append(keys, smallEncodings(t)...)
	for _, pub := range keys {
		k := newOftenKey(pub)
		if k == nil {
			t.Fatalf("%x does not encode a point", pub)
		}
		valid := 0
		for i := range 4000 { // one of eight signatures under a key of small order is valid
			if i >= 40 && valid > 0 {
				break
			}
			msg := make([]byte, random.Uint64()%100)
			random.Read(msg)
			sig := chosenSignature(t, random, scalar, pub, msg)
			for range 8 {
				want := ed25519.Verify(pub, msg, sig)
				if got := k.valid(msg, sig); got != want {
					t.Fatalf("key %x, message %x, signature %x: %v, want %v", pub, msg, sig, got, want)
				}
				if want {
					valid++
				}
				sig = altered(random, sig)
			}
		}
		if valid == 0 {
			t.Errorf("key %x: no signature was valid", pub)
		}
	}
}

// chosenSignature signs as the owner of scalar would under pub. It is valid if a part of
// small order in pub does not count.
func chosenSignature(t *testing.T, random *rand.ChaCha8, scalar *edwards25519.Scalar, pub, msg []byte) []byte {
	t.Helper()
	wide := make([]byte, 64)
	random.Read(wide)
	nonce, err := edwards25519.NewScalar().SetUniformBytes(wide)
	if err != nil {
		t.Fatal(err)
	}
	if smallOrder(pub) {
		scalar = edwards25519.NewScalar()
	}
	r := new(edwards25519.Point).ScalarBaseMult(nonce).Bytes()
	h := sha512.Sum512(slices.Concat(r, pub, msg))
	k, err := edwards25519.NewScalar().SetUniformBytes(h[:])
	if err != nil {
		t.Fatal(err)
	}
	return append(r, edwards25519.NewScalar().MultiplyAdd(k, scalar, nonce).Bytes()...)
}

// altered changes a bit, adds the order to S, or exchanges a half.
func altered(random *rand.ChaCha8, sig []byte) []byte {
	out := bytes.Clone(sig)
	switch random.Uint64() % 4 {
	case 0:
		out[random.Uint64()%64] ^= 1 << (random.Uint64() % 8)
	case 1:
		s := bytes.Clone(sig[32:])
		slices.Reverse(s)
		n := new(big.Int).Add(new(big.Int).SetBytes(s), groupOrder())
		if n.BitLen() <= 256 {
			b := n.FillBytes(make([]byte, 32))
			slices.Reverse(b)
			copy(out[32:], b)
		}
	case 2:
		random.Read(out[32:])
	default:
		random.Read(out[:32])
	}
	return out
}

// TestOftenUsed verifies with more keys, and more often, than multiples are made for.
func TestOftenUsed(t *testing.T) {
	var u usedKeys
	msg := []byte("a statement")
	for i := range maxUsed + 2 {
		priv := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(i + 1)}, ed25519.SeedSize))
		pub, sig := priv.Public().(ed25519.PublicKey), ed25519.Sign(priv, msg)
		times := 3
		if i < maxOften+1 {
			times = oftenUsed + 3
		}
		for n := range times {
			if !u.valid(pub, msg, sig) || u.valid(pub, msg[1:], sig) {
				t.Fatalf("key %d, verification %d", i, n)
			}
		}
	}
	often := 0
	for _, k := range u.keys {
		if k.often.Load() != nil {
			often++
		}
	}
	if often != maxOften || len(u.keys) != maxUsed {
		t.Errorf("%d keys have multiples and %d are counted, want %d and %d", often, len(u.keys), maxOften, maxUsed)
	}
}

func FuzzOften(f *testing.F) {
	f.Add(goldenKey().Seed(), []byte("text"), ed25519.Sign(goldenKey(), []byte("text")))
	f.Fuzz(func(t *testing.T, seed, msg, sig []byte) {
		if len(seed) != ed25519.SeedSize || len(sig) != ed25519.SignatureSize {
			t.Skip()
		}
		pub := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
		k := newOftenKey(pub)
		if own := ed25519.Sign(ed25519.NewKeyFromSeed(seed), msg); !k.valid(msg, own) {
			t.Fatal("a signature of the key is not valid")
		}
		if k.valid(msg, sig) != ed25519.Verify(pub, msg, sig) {
			t.Fatalf("%x, %x, %x", pub, msg, sig)
		}
	})
}

func BenchmarkVerifyOften(b *testing.B) {
	msg := make([]byte, 300)
	sig := ed25519.Sign(goldenKey(), msg)
	pub := pubOf(goldenKey())
	k := newOftenKey(pub)
	b.Run("crypto", func(b *testing.B) {
		for b.Loop() {
			ed25519.Verify(pub, msg, sig)
		}
	})
	b.Run("often", func(b *testing.B) {
		for b.Loop() {
			k.valid(msg, sig)
		}
	})
	b.Run("multiples", func(b *testing.B) {
		for b.Loop() {
			newOftenKey(pub)
		}
	})
}
