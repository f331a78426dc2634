// Package rules decides by the state of a registry whether a change is accepted: which key may
// change a namespace, which version of a bundle is unused, whether the signers continue. The
// server computes the state from its log; the dry run of a push computes a part of it from the
// files that the registry serves.
//
// It does not judge the items of a bundle: its caller passes that judgement (Judge).
package rules
