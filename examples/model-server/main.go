// Command model-server answers as the service of a model would, by the scenario file that its
// argument names. The examples run with it, without a key and without costs.
//
// It calls no model and stores nothing.
package main

import "github.com/ryeos/rye/internal/testing/modelserver"

func main() { modelserver.Main() }
