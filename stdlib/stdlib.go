// Package stdlib is the system bundle: the items below .ai that are compiled
// into the program, and the public key that signed them.
//
// It does not read files, check signatures or decide about trust. The caller that
// adds its files to a space verifies the bundle's manifest first.
//
// # The development key
//
// The private key that signs these items is below, public on purpose, so that
// everybody who builds rye can sign the embedded items. Its signatures are
// trusted for embedded items only; in every other space the key is unknown. It
// shows where an item came from, and system items take the same code path as all
// others. It does not protect against a malicious binary.
package stdlib

import (
	"embed"
	"io/fs"
	"strings"
)

// Bundle is the id of the system bundle.
const Bundle = "rye-core"

// DevSeed is the Ed25519 seed of the development key in hexadecimal: the
// SHA-256 of DevSentence.
const DevSeed = "cfb8dfd2dcac0fb7c9722ead529cb384b4c7800ae0e215925f921898cda6fbb1"

// DevSentence is the text whose hash is DevSeed.
const DevSentence = "The development key of rye is public on purpose."

// DevPublic is the raw public key of the development key in hexadecimal.
const DevPublic = "788e50e145d499868e456313353ab9bdc0dc90fde219a6eb82fb450183ac03a1"

// The prefix all: keeps names that begin with "." or "_", which a plain
// pattern omits silently.
//
//go:embed all:.ai
var files embed.FS

// FS returns the bundle's files; every path begins with ".ai/".
func FS() fs.FS { return files }

//go:embed facts
var facts string

// Facts are what follows from the bytes of the bundle and of its key alone. They are
// computed when the bundle is signed, so that each start of the program need not do it; a
// test computes them again.
type Facts struct {
	Manifest  string // SHA-256 of a manifest that is well formed, in hexadecimal
	Signature string // sign.Signature.Digest of its signature, which is valid, in hexadecimal
	Tree      string // treehash.Of of the files that it lists
}

// Known returns the facts about the embedded bundle.
func Known() Facts {
	line := strings.Fields(facts)
	if len(line) != 3 {
		return Facts{} // none is known
	}
	return Facts{line[0], line[1], line[2]}
}

//go:embed parsed
var parsed string

// Parsed is the metadata of the items that runs of tools read, as resolve.NewParsed reads it. It is
// made when the bundle is signed; a test makes it again.
func Parsed() string { return parsed }
