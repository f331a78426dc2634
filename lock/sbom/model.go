package sbom

// Document is a bill of materials in CycloneDX 1.6, with the names and nesting of the
// format. Only the fields that rye writes are part of it.
type Document struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber,omitempty"`
	Version      int          `json:"version"`
	Metadata     Metadata     `json:"metadata"`
	Components   []Component  `json:"components"`
	Dependencies []Dependency `json:"dependencies"`
}

// Metadata describes the document and the program that wrote it.
type Metadata struct {
	Timestamp string    `json:"timestamp,omitempty"`
	Tools     Tools     `json:"tools"`
	Component Component `json:"component"`
}

// Tools are the programs that wrote the document.
type Tools struct {
	Components []Component `json:"components"`
}

// Component is one part: the project, a bundle, a workspace member, the
// system bundle, or an item.
type Component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref,omitempty"`
	Supplier   *Supplier  `json:"supplier,omitempty"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	Hashes     []Hash     `json:"hashes,omitempty"`
	Purl       string     `json:"purl,omitempty"`
	External   []External `json:"externalReferences,omitempty"`
	Properties []Property `json:"properties,omitempty"`
}

// Supplier names the signers of a component.
type Supplier struct {
	Name string `json:"name"`
}

// Hash is a digest in hexadecimal digits.
type Hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// External is the origin of a component.
type External struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// Property is a value that the format has no field for.
type Property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Dependency lists the direct dependencies of a component.
type Dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}
