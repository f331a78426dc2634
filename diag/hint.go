package diag

// HintOf returns what to do about an error: its own hint, the fix of its only
// finding, or the table's hint for its code.
func HintOf(e *Error) string {
	if e.Hint != "" {
		return e.Hint
	}
	if len(e.Findings) == 1 && e.Findings[0].Fix != "" {
		return e.Findings[0].Fix
	}
	row, _ := Lookup(e.Code)
	return row.Hint
}
