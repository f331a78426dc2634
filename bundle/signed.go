package bundle

// Signed judges the signatures of a manifest. It reads no other file.
func Signed(p VerifyParams) (*Report, error) {
	if err := CheckID(p.ID); err != nil {
		return nil, err
	}
	r := &Report{
		Signatures: []Signature{},
		Missing:    []string{},
		Extra:      []string{},
		Changed:    []string{},
	}
	where := ManifestPath(p.ID)
	b, _, err := p.Tree.Read(where, MaxManifest)
	if err != nil {
		return nil, err
	}
	return r, r.signatures(p, where, b)
}
