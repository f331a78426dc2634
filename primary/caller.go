package primary

import "github.com/ryeos/rye/policy"

// Caller returns what whoever calls holds.
func (h *Verbs) Caller() policy.Set { return h.p.Caller }
