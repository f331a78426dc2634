package edit

import "bytes"

// Vendor removes the line vendor, or adds it at the end. An empty text becomes
// a whole project file.
func Vendor(b []byte, on bool) []byte {
	if len(b) == 0 {
		b = []byte("rye: 1\n")
	}
	var out []byte
	for line := range bytes.Lines(b) {
		if !bytes.HasPrefix(line, []byte("vendor:")) {
			out = append(out, line...)
		}
	}
	if on {
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		out = append(out, "vendor: true\n"...)
	}
	return out
}
