// Package provider has the commands for services of models: rye provider.
//
// It does not call a model itself.
package provider
