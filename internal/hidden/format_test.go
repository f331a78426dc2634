package hidden

import "testing"

// TestHighFormatCharacters covers the invisible characters above the BMP that a second
// attack found to pass.
func TestHighFormatCharacters(t *testing.T) {
	t.Parallel()
	for _, r := range []rune{0x1BCA0, 0x1BCA3, 0x13430, 0x1343F, 0x1D159, 0x16FE4, 0x1D173} {
		if c := classOf(r); c != classInvisible {
			t.Errorf("U+%X: %s", r, c.name())
		}
	}
	for _, r := range []rune{0x1BC9F, 0x13000, 0x1D15A, 0x16FE0} {
		if c := classOf(r); c != classNone {
			t.Errorf("U+%X is visible: %s", r, c.name())
		}
	}
}
