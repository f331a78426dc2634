package sign

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/hex"
	"math/big"
	"slices"
	"strings"
	"testing"

	"filippo.io/edwards25519"

	"github.com/ryeos/rye/diag"
)

// torsion returns the eight points of small order, found by multiplying
// points by L until one has order 8.
func torsion(t *testing.T) []*edwards25519.Point {
	t.Helper()
	for y := byte(2); ; y++ {
		enc := make([]byte, 32)
		enc[0] = y
		p, err := new(edwards25519.Point).SetBytes(enc)
		if err != nil {
			continue
		}
		g := timesOrder(p)
		four := new(edwards25519.Point).Add(g, g)
		four.Add(four, four)
		if four.Equal(edwards25519.NewIdentityPoint()) == 1 {
			continue
		}
		all := []*edwards25519.Point{edwards25519.NewIdentityPoint()}
		for len(all) < 8 {
			all = append(all, new(edwards25519.Point).Add(all[len(all)-1], g))
		}
		return all
	}
}

// smallEncodings returns the 14 encodings of small-order points: 8 canonical,
// and those with y+p or with the sign of a zero x set.
func smallEncodings(t *testing.T) [][]byte {
	var out [][]byte
	add := func(b []byte) {
		if !slices.ContainsFunc(out, func(o []byte) bool { return bytes.Equal(o, b) }) {
			out = append(out, b)
		}
	}
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	for _, pt := range torsion(t) {
		enc := pt.Bytes()
		add(enc)
		le := slices.Clone(enc)
		sign := le[31] & 0x80
		le[31] &= 0x7f
		slices.Reverse(le)
		y := new(big.Int).SetBytes(le)
		variants := []*big.Int{y, new(big.Int).Add(y, p)}
		for _, v := range variants {
			if v.BitLen() > 255 {
				continue
			}
			b := v.FillBytes(make([]byte, 32))
			slices.Reverse(b)
			for _, s := range []byte{sign, 0x80, 0} {
				c := slices.Clone(b)
				c[31] |= s
				if _, err := new(edwards25519.Point).SetBytes(c); err == nil {
					add(c)
				}
			}
		}
	}
	return out
}

// forge returns the golden tool with its signature replaced.
func forge(t *testing.T, sig []byte) string {
	t.Helper()
	sp, err := SplitFile([]byte(goldenTool), style(t, "#"))
	if err != nil {
		t.Fatal(err)
	}
	copy(sp.Line.Sig[:], sig)
	return string(sp.Head) + sp.Line.Render(style(t, "#")) + string(sp.Tail)
}

func goldenSig(t *testing.T) []byte {
	t.Helper()
	sp, err := SplitFile([]byte(goldenTool), style(t, "#"))
	if err != nil {
		t.Fatal(err)
	}
	return sp.Line.Sig[:]
}

func TestV1Malleability(t *testing.T) {
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	sig := goldenSig(t)
	le := slices.Clone(sig[32:])
	slices.Reverse(le)
	s := new(big.Int).SetBytes(le)
	for k := int64(1); ; k++ {
		v := new(big.Int).Add(s, new(big.Int).Mul(order, big.NewInt(k)))
		if v.BitLen() > 256 {
			if k < 8 {
				t.Fatalf("only %d multiples fit", k)
			}
			return
		}
		b := v.FillBytes(make([]byte, 32))
		slices.Reverse(b)
		wantCode(t, "V1 S+kL", verifyTool(forge(t, append(slices.Clone(sig[:32]), b...))), diag.SigInvalid)
	}
}

// The identity key verifies every message in the standard library (V2); a key
// document that names it must fail before that (T16).
func TestV2T16IdentityKey(t *testing.T) {
	pub := append([]byte{1}, make([]byte, 31)...)
	universal := append(slices.Clone(pub), make([]byte, 32)...)
	if !ed25519.Verify(pub, []byte("anything"), universal) {
		t.Fatal("the standard library refuses the identity key now; the vector is void")
	}
	wantCode(t, "V2 CheckKey", CheckKey(pub), diag.KeyWeak)

	l := Line{Time: goldenTime(), Key: FingerprintOf(pub)}
	copy(l.Sig[:], universal)
	sp := Split{Tail: []byte(toolBody)}
	l.Body = sp.Digest()
	_, err := Verify([]byte(l.Render(style(t, "#"))+toolBody), style(t, "#"), tool("demo/hello"), OnlyKey(pub))
	wantCode(t, "T16 Verify", err, diag.KeyWeak)
	_, _, err = Sign(context.Background(), []byte(toolBody), style(t, "#"), tool("demo/hello"), junk{pub, universal}, goldenTime())
	wantCode(t, "T16 Sign", err, diag.KeyWeak)
}

func TestV3SmallOrderKeys(t *testing.T) {
	all := smallEncodings(t)
	if len(all) != 14 {
		t.Fatalf("%d encodings, want 14", len(all))
	}
	for _, enc := range all {
		wantCode(t, "V3 "+hex.EncodeToString(enc), CheckKey(enc), diag.KeyWeak)
		if !smallOrder(enc) {
			t.Errorf("V3 %x passes the cheap check", enc)
		}
	}
	for i := range 200 {
		priv, _ := GenerateKey(bytes.NewReader(bytes.Repeat([]byte{byte(i)}, 32)))
		if err := CheckKey(pubOf(priv)); err != nil || smallOrder(pubOf(priv)) {
			t.Errorf("an honest key is refused: %v", err)
		}
	}
}

func TestV4NonCanonicalKeys(t *testing.T) {
	for low := 0xed; low <= 0xff; low++ {
		enc := append([]byte{byte(low)}, bytes.Repeat([]byte{0xff}, 30)...)
		for _, last := range []byte{0x7f, 0xff} {
			b := append(slices.Clone(enc), last)
			err := CheckKey(b)
			wantCode(t, "V4 "+hex.EncodeToString(b), err, diag.KeyWeak)
			_, notPoint := new(edwards25519.Point).SetBytes(b)
			if err != nil && notPoint == nil && !strings.Contains(err.Error(), "canonical") {
				t.Errorf("V4 %x: %v", b, err)
			}
			if !smallOrder(b) {
				t.Errorf("V4 %x passes the cheap check", b)
			}
		}
	}
	notOnCurve := append([]byte{2}, make([]byte, 31)...)
	wantCode(t, "V4 not a point", CheckKey(notOnCurve), diag.KeyWeak)
}

// TestCheckKeyRemembersOneKey checks weak keys after a good one, in its memory and in turn.
func TestCheckKeyRemembersOneKey(t *testing.T) {
	good := slices.Clone(pubOf(goldenKey()))
	weak := append(smallEncodings(t), append([]byte{2}, make([]byte, 31)...))
	for _, enc := range weak {
		if err := CheckKey(good); err != nil {
			t.Fatal(err)
		}
		wantCode(t, "in turn", CheckKey(enc), diag.KeyWeak)
		wantCode(t, "again", CheckKey(enc), diag.KeyWeak)
		if err := CheckKey(good); err != nil {
			t.Fatal(err)
		}
		changed := good
		copy(changed, enc)
		wantCode(t, "in the same memory", CheckKey(changed), diag.KeyWeak)
		copy(good, pubOf(goldenKey()))
		wantCode(t, "shorter", CheckKey(good[:31]), diag.KeyWeak)
	}
}

func TestV5V7MixedOrder(t *testing.T) {
	a, err := new(edwards25519.Point).SetBytes(pubOf(goldenKey()))
	if err != nil {
		t.Fatal(err)
	}
	for i, tor := range torsion(t)[1:] {
		mixed := new(edwards25519.Point).Add(a, tor).Bytes()
		wantCode(t, "V5", CheckKey(mixed), diag.KeyWeak)
		// V7: a residue of small order in R fits a cofactored equation only.
		scalar, r := goldenScalar(t), new(edwards25519.Point)
		nonce, _ := edwards25519.NewScalar().SetUniformBytes(bytes.Repeat([]byte{byte(i + 1)}, 64))
		r.ScalarBaseMult(nonce)
		r.Add(r, tor)
		wantCode(t, "V7", verifyTool(forge(t, signWith(t, scalar, nonce, r.Bytes()))), diag.SigInvalid)
	}
}

// goldenScalar is the secret scalar of the golden key.
func goldenScalar(t *testing.T) *edwards25519.Scalar {
	t.Helper()
	h := sha512.Sum512(goldenKey().Seed())
	s, err := edwards25519.NewScalar().SetBytesWithClamping(h[:32])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// signWith signs the golden statement with a nonce and an R of the caller's.
func signWith(t *testing.T, secret, nonce *edwards25519.Scalar, r []byte) []byte {
	t.Helper()
	h := sha512.Sum512(slices.Concat(r, pubOf(goldenKey()), []byte(goldenStatement)))
	k, err := edwards25519.NewScalar().SetUniformBytes(h[:])
	if err != nil {
		t.Fatal(err)
	}
	return append(slices.Clone(r), edwards25519.NewScalar().MultiplyAdd(k, secret, nonce).Bytes()...)
}

func TestV6SmallOrderR(t *testing.T) {
	zero := edwards25519.NewScalar()
	sig := signWith(t, goldenScalar(t), zero, edwards25519.NewIdentityPoint().Bytes())
	if !ed25519.Verify(pubOf(goldenKey()), []byte(goldenStatement), sig) {
		t.Fatal("the standard library refuses R = identity now; the vector is void")
	}
	wantCode(t, "V6 R = identity", verifyTool(forge(t, sig)), diag.SigInvalid)
	for _, r := range smallEncodings(t) {
		wantCode(t, "V6", verifyTool(forge(t, signWith(t, goldenScalar(t), zero, r))), diag.SigInvalid)
	}
	// The same construction with an honest nonce is a good signature.
	nonce, _ := edwards25519.NewScalar().SetUniformBytes(bytes.Repeat([]byte{7}, 64))
	good := signWith(t, goldenScalar(t), nonce, new(edwards25519.Point).ScalarBaseMult(nonce).Bytes())
	if err := verifyTool(forge(t, good)); err != nil {
		t.Error(err)
	}
}

func TestV8Prehashed(t *testing.T) {
	sum := sha512.Sum512([]byte(goldenStatement))
	ph, err := goldenKey().Sign(nil, sum[:], &ed25519.Options{Hash: crypto.SHA512})
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "V8 ph as pure", verifyTool(forge(t, ph)), diag.SigInvalid)
	if ed25519.VerifyWithOptions(pubOf(goldenKey()), sum[:], goldenSig(t), &ed25519.Options{Hash: crypto.SHA512}) == nil {
		t.Error("V8 pure verified as ph")
	}
	ctx, err := goldenKey().Sign(nil, []byte(goldenStatement), &ed25519.Options{Context: "rye"})
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "V8 ctx as pure", verifyTool(forge(t, ctx)), diag.SigInvalid)
}

func TestV9Lengths(t *testing.T) {
	const sig = "KKcAFw1svYikWOYv6mvSZJFeefpkINVDfZJwCEl36zQLBUu860IhLULOMU1jtBQbtaDyQgaAZvG3CQCboPwUAw"
	for _, other := range []string{sig[:84], sig[:83] + "A", sig + "A", sig[:86] + "AA", ""} {
		wantCode(t, "V9", verifyTool(strings.Replace(goldenTool, sig, other, 1)), diag.SigMalformed)
	}
	for _, n := range []int{0, 31, 33, 64} {
		pub := make(ed25519.PublicKey, n)
		wantCode(t, "V9 key", CheckKey(pub), diag.KeyWeak)
		short := func(Fingerprint) (ed25519.PublicKey, bool) { return pub, true }
		_, err := Verify([]byte(goldenTool), style(t, "#"), tool("demo/hello"), short)
		wantCode(t, "V9 key in Verify", err, diag.KeyWeak)
	}
}

func TestV10OtherFingerprint(t *testing.T) {
	other := FingerprintOf(pubOf(otherKey()))
	file := strings.Replace(goldenTool, goldenFP, other.String(), 1)
	wantCode(t, "V10 unknown", verifyTool(file), diag.KeyUnknown)
	// Keys that answer with the right key for a wrong fingerprint.
	lying := func(Fingerprint) (ed25519.PublicKey, bool) { return pubOf(goldenKey()), true }
	_, err := Verify([]byte(file), style(t, "#"), tool("demo/hello"), lying)
	wantCode(t, "V10 key of another fingerprint", err, diag.KeyWeak)
	honest := func(fp Fingerprint) (ed25519.PublicKey, bool) {
		if fp == other {
			return pubOf(otherKey()), true
		}
		return pubOf(goldenKey()), true
	}
	_, err = Verify([]byte(file), style(t, "#"), tool("demo/hello"), honest)
	wantCode(t, "V10 known key, its fingerprint is in the statement", err, diag.SigInvalid)
}

// TestCheckKeyKnown asks the proofs about each key, adds the sound ones, and never a weak one.
func TestCheckKeyKnown(t *testing.T) {
	good, other := pubOf(goldenKey()), pubOf(otherKey())
	known := knownKeys{}
	for _, pub := range [][]byte{good, other, good} {
		if err := CheckKeyKnown(pub, known); err != nil {
			t.Fatal(err)
		}
	}
	if len(known) != 2 || !known[[32]byte(good)] || !known[[32]byte(other)] {
		t.Errorf("known are %v", known)
	}
	for _, enc := range smallEncodings(t) {
		wantCode(t, "weak", CheckKeyKnown(enc, known), diag.KeyWeak)
	}
	wantCode(t, "short", CheckKeyKnown(good[:31], known), diag.KeyWeak)
	if len(known) != 2 {
		t.Errorf("a weak key was added: %v", known)
	}
}

// knownKeys are Proofs about keys only.
type knownKeys map[[32]byte]bool

func (knownKeys) Known(Signature) bool         { return false }
func (knownKeys) Valid(Signature)              {}
func (k knownKeys) KnownKey(pub [32]byte) bool { return k[pub] }
func (k knownKeys) ValidKey(pub [32]byte)      { k[pub] = true }
