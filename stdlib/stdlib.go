// Package stdlib is the system bundle: the items below .ai that are compiled
// into the program, and the public key that signed them.
//
// It is NOT a reader: it opens no file, checks no signature and trusts nothing.
// Whoever hands its files to a space verifies the bundle's manifest first.
//
// # The development key
//
// The private half of the key that signs these items is written below, public
// on purpose: whoever builds rye can sign what he builds in. A signature with
// it counts for embedded items and for nothing else; in every other space it is
// the signature of a stranger. It shows where an item came from and puts system
// items through the one code path that all items take. It does not protect
// against a malicious binary, and nothing inside a binary can.
package stdlib

import (
	"embed"
	"io/fs"
)

// Bundle is the id of the system bundle.
const Bundle = "rye-core"

// DevSeed is the Ed25519 seed of the development key in hexadecimal: the
// SHA-256 of DevSentence.
const DevSeed = "cfb8dfd2dcac0fb7c9722ead529cb384b4c7800ae0e215925f921898cda6fbb1"

// DevSentence is where DevSeed comes from.
const DevSentence = "The development key of rye is public on purpose."

// DevPublic is the raw public key of the development key in hexadecimal.
const DevPublic = "788e50e145d499868e456313353ab9bdc0dc90fde219a6eb82fb450183ac03a1"

// The prefix all: keeps names that begin with "." or "_", which a plain
// pattern drops without a word.
//
//go:embed all:.ai
var files embed.FS

// FS returns the bundle's files; every path begins with ".ai/".
func FS() fs.FS { return files }
