package main

import "github.com/ryeos/rye/diag"

func explanation(c diag.Code) string { return "" }
