package bundle

import (
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Render returns the unsigned manifest in its canonical form.
func (m *Manifest) Render() []byte {
	b := make([]byte, 0, 512+176*len(m.Files))
	b = append(b, "bundle:\n"...)
	for _, f := range m.header() {
		b = appendField(b, f.key, f.value)
	}
	if len(m.Requires) > 0 {
		b = append(b, "  requires:\n"...)
		for _, id := range slices.Sorted(maps.Keys(m.Requires)) {
			b = appendField(append(b, "  "...), id, m.Requires[id])
		}
	}
	if len(m.Files) == 0 {
		return append(b, "files: {}\n"...)
	}
	b = append(b, "files:\n"...)
	for _, f := range m.Files {
		b = f.append(b)
	}
	return b
}

type field struct{ key, value string }

// header returns the fields of the bundle section in their order, without empty
// optional ones.
func (m *Manifest) header() []field {
	all := []field{{"id", m.ID}, {"version", m.Version}, {"type", m.Type},
		{"description", m.Description}, {"entrypoint", m.Entrypoint}, {"created_at", m.CreatedAt}}
	return slices.DeleteFunc(all, func(f field) bool {
		return f.value == "" && f.key != "id" && f.key != "version" && f.key != "type"
	})
}

func (f File) append(b []byte) []byte {
	b = appendText(append(b, "  "...), f.Path)
	b = append(b, `: {sha256: "`...)
	b = hex.AppendEncode(b, f.Digest[:])
	b = append(b, `", size: `...)
	b = strconv.AppendInt(b, f.Size, 10)
	b = append(b, `, mode: "`...)
	b = append(b, f.Mode()...)
	b = append(b, `", inline_signed: `...)
	b = strconv.AppendBool(b, f.Signed)
	return append(b, "}\n"...)
}

func appendField(b []byte, key, value string) []byte {
	b = appendText(append(b, "  "...), key)
	b = appendText(append(b, ": "...), value)
	return append(b, '\n')
}

// appendText writes a scalar: plain if every YAML parser reads it as this text,
// quoted otherwise. The ASCII escapes of Go have the same meaning in YAML.
func appendText(b []byte, s string) []byte {
	if plain(s) {
		return append(b, s...)
	}
	return strconv.AppendQuoteToASCII(b, s)
}

func plain(s string) bool {
	if s == "" || len(s) > 256 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		inner := c >= '0' && c <= '9' || c == '-' || c == '/'
		if !letter &&
			!(i > 0 && inner) &&
			!(c == '.' && (i > 0 || strings.HasPrefix(s, dir+"/"))) {
			return false
		}
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf":
		return false
	}
	return true
}
