package schema

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// MaxSteps is the number of subschemas that one validation may apply. A few lines of
// "$ref" can require 2^60 of them.
const MaxSteps = 500_000

// errSteps is the value of a panic through the library, which cannot be stopped in
// another way.
var errSteps = errors.New("the schema takes too many steps to check")

// budget counts the steps of the running validation. The library calls it as an
// extension keyword of every subschema.
type budget struct{ left int }

func (b *budget) vocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL: address + "/steps",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
			return b, nil
		},
	}
}

// Validate counts one step.
func (b *budget) Validate(*jsonschema.ValidatorContext, any) {
	if b.left--; b.left < 0 {
		panic(errSteps)
	}
}
