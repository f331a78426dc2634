package mdterm

// Lines returns a whole text.
func Lines(text string, style Style) []string {
	s := New(style)
	return append(s.Add(text), s.End()...)
}
