// Package registry has the commands of rye-server that serve and operate a registry: serve, export,
// import, witness and admin.
//
// It does not know the files and the protocol of a registry: registry/server does.
package registry
