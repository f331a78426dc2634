package search

import (
	"slices"
	"strings"
)

// commonWord reports whether a word is common in every English text. Among few
// items it can be rare by chance, so its weight is limited.
func commonWord(w string) bool { _, ok := slices.BinarySearch(commonWords, w); return ok }

// commonWords are the words of questions that say nothing about an answer.
var commonWords = slices.Sorted(strings.FieldsSeq(`a about after all also am an and any are as at
	be because been before being but by can could did do does doing each for from get had has have
	having he her here him his how i if in into is it its just know let like make many may me might
	more most must my need no nor not of off on once one only or other our out over own please same
	she should show so some such than that the their them then there these they this those
	through to too under until up us use using very want was we were what when where which while who
	why will with without would you your`))

// Limits of the inflected forms of a word, in letters.
const (
	minInflected = 4
	minStem      = 3
)

// inflections returns the regular forms of an English word, its plural and what
// ends in -ed and -ing, and the letters with which all of them begin. Most of the
// forms do not exist.
func inflections(w string) (prefix string, out []string) {
	if len(w) < minInflected || !ascii(w) {
		return "", nil
	}
	stem := w
	for _, ending := range []string{"ies", "ing", "ied", "ed", "es", "s", "e", "y"} {
		s, ok := strings.CutSuffix(w, ending)
		if ok &&
			len(s) >= minStem &&
			(ending != "s" || s[len(s)-1] != 's') {
			stem = s
			break
		}
	}
	add := func(s string) {
		if len(s) >= minStem && s != w && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, ending := range []string{"", "s", "es", "e", "ed", "ing", "y", "ies", "ied"} {
		add(stem + ending)
	}
	n := len(stem)
	if n > minStem && stem[n-1] == stem[n-2] { // running, run
		add(stem[:n-1])
		add(stem[:n-1] + "s")
		return stem[:n-1], out
	}
	return stem, out
}
