package cli

// Tables returns the tables of this package, empty, by their names.
func Tables() map[string]*Table {
	return map[string]*Table{
		"help":  {Form: Facts, Columns: []Column{{Name: "NAME"}, {Name: "TEXT", Cut: Wrap}}},
		"codes": {Columns: []Column{{Name: "CODE", Min: 24}, {Name: "EXIT"}, {Name: "WHEN", Min: 16, Cut: Wrap}}},
	}
}
