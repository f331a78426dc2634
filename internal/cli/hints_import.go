package cli

import "github.com/ryeos/rye/diag"

// importHints are the hints of rye import.
func importHints() map[situation]string {
	return map[situation]string{
		{diag.Usage, "import_from"}:             "rye import --from ryeos DIR",
		{diag.Usage, "import_nothing"}:          "rye import . --dry-run lists what this directory has",
		{diag.Usage, "import_format"}:           "name the format with --from; rye help import lists them",
		{diag.AmbiguousItem, "import_taken"}:    "keep the file; or remove it, or name another id with --to ID",
		{diag.Usage, "import_id"}:               "name the item with --to ID",
		{diag.FileSystemError, "export_exists"}: "name a new directory with --to",
		{diag.Usage, "export_kind"}:             "rye list skill",
		{diag.Usage, "import_current"}:          "it needs no import: rye verify lists its items with an old signature",
		{diag.Usage, "import_target"}:           "name a new directory with --to",
		{diag.ItemNotFound, "import_missing"}:   "name a file or a directory that exists",
		{diag.ItemNotFound, "import_empty"}:     "name the directory that contains .ai",
		{diag.Legacy, "original_import"}:        "use {use}",
		{diag.Legacy, "left_bundle"}:            "`rye bundle create` in the copy writes one of today's format",
		{diag.Legacy, "left_reader"}:            "the program has its own; if you changed them, write an extractor item (docs/dev/design/extractors.md)",
		{diag.Legacy, "left_library"}:           "the program has its own; if you changed a file, copy it under another id",
		{diag.Legacy, "left_server"}:            "{command}",
		{diag.Legacy, "left_link"}:              "copy what it contains if an item needs it",
		{diag.Legacy, "left_unknown"}:           "copy it if an item needs it",
	}
}
