package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"unicode"
)

//go:embed quality/fts5.py
var ftsScript string

// plainWords returns the words of a text as the references see them.
func plainWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// askFTS asks SQLite FTS5 with its bm25(), the words joined by OR. It returns nil
// without Python.
func (b *bench) askFTS(pages []page, tokenizer string) func([]question) ([][]string, error) {
	return func(all []question) (out [][]string, err error) {
		if b.python == "" {
			return nil, nil
		}
		in := struct {
			Tokenizer string      `json:"tokenizer"`
			Depth     int         `json:"depth"`
			Pages     [][2]string `json:"pages"`
			Queries   [][]string  `json:"queries"`
		}{Tokenizer: tokenizer, Depth: depth}
		for _, p := range pages {
			in.Pages = append(in.Pages, [2]string{p.id, p.text()})
		}
		for _, q := range all {
			in.Queries = append(in.Queries, plainWords(q.text))
		}
		input, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(b.python, "-c", ftsScript)
		cmd.Stdin = bytes.NewReader(input)
		text, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("Python with FTS5: %w", err)
		}
		return out, json.Unmarshal(text, &out)
	}
}

// askBM25 asks plain BM25 with k1 1.2 and b 0.75 over one field, the words joined
// by OR.
func askBM25(pages []page) func([]question) ([][]string, error) {
	counts := make([]map[string]int, len(pages))
	lengths := make([]float64, len(pages))
	docs := map[string]float64{}
	total := 0.0
	for i, p := range pages {
		counts[i] = map[string]int{}
		for _, w := range plainWords(p.text()) {
			if counts[i][w]++; counts[i][w] == 1 {
				docs[w]++
			}
			lengths[i]++
		}
		total += lengths[i]
	}
	const k1, b = 1.2, 0.75
	n := float64(len(pages))
	score := func(words []string, i int) (sum float64) {
		for _, w := range words {
			if tf := float64(counts[i][w]); tf > 0 {
				idf := math.Log(
					1 + (n-docs[w]+0.5)/(docs[w]+0.5),
				)
				sum += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*lengths[i]/(total/n)))
			}
		}
		return sum
	}
	return func(all []question) (out [][]string, err error) {
		for _, q := range all {
			words := plainWords(q.text)
			scores := make([]float64, len(pages))
			var hits []int
			for i := range pages {
				if scores[i] = score(words, i); scores[i] > 0 {
					hits = append(hits, i)
				}
			}
			slices.SortStableFunc(hits, func(x, y int) int {
				return cmp.Compare(scores[y], scores[x])
			})
			ids := []string{}
			for _, i := range hits[:min(depth, len(hits))] {
				ids = append(ids, pages[i].id)
			}
			out = append(out, ids)
		}
		return out, nil
	}
}
