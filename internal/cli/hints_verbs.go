package cli

import "github.com/ryeos/rye/diag"

// verbHints are the hints of the commands themselves.
func verbHints() map[situation]string {
	return map[situation]string{
		{diag.AmbiguousItem, "id_taken"}:      "choose another id",
		{diag.Drift, "sign"}:                  "rye sign {file}",
		{diag.Drift, "upgrade"}:               "rye sign --upgrade {file}",
		{diag.AuthRequired, "new_passphrase"}: "set {variable}, or write --no-passphrase if the file is protected otherwise",
		{diag.Expired, "document"}:            "ask the owner for a new document",
		{diag.ItemNotFound, "trust_list"}:     "rye trust list",
		{diag.KeyUnknown, "name_file"}:        "name the file of the document",
		{diag.Scope, "missing_use"}:           "rye key new --may sign,release,{use}; others permit it with rye trust add --may {use}",
		{diag.Usage, "accept_headless"}:       "review the documents, then run the command with --yes",
		{diag.Usage, "accept_json"}:           "review the documents without --json, then run the command with --yes",
		{diag.Usage, "file_or_key"}:           "name the file as ./{word}, or the key by its fingerprint",
		{diag.Usage, "inside"}:                "rye init {outer}",
		{diag.Usage, "key_export"}:            "the owner makes one with rye key export",
		{diag.Usage, "no_version"}:            "install a release of rye, or build it in a clone with `go install ./cmd/rye`",
		{diag.Usage, "no_passphrase"}:         "`rye key new --no-passphrase` makes a key without one: anybody who can read its file can sign as you",
		{diag.Usage, "reserved"}:              "name a directory below it: rye init DIR",
		{diag.Usage, "revoke_reason"}:         "--reason compromised invalidates all signatures; superseded and retired those from --at on",
		{diag.Usage, "scope"}:                 "name the items that the key may sign: --kinds tool --namespaces 'NAME/**'",
		{diag.ItemNotFound, "nearest_kind"}:   "rye list {nearest}",
		{diag.ItemNotFound, "kinds"}:          "the kinds are {kinds}",
		{diag.ToolNotFound, "kinds"}:          "the kinds of every project are {kinds}",
		{diag.Usage, "kind_alone"}:            "rye list {name}",
		{diag.Usage, "hook_by_hand"}:          "rye verify --rev REV verifies a revision",
		{diag.Usage, "sign_nothing"}:          "rye sign '*' signs the items that are not signed and those that you changed",
	}
}
