// Package registry has the commands of rye-server that serve and operate a registry: serve, export,
// import, witness and admin.
//
// The package registry/server is the registry; this one has its flags and its output.
package registry
