package diag

// Code names one kind of failure. Codes are stable once released.
type Code string

// The codes, in the order of the table.
const (
	Usage              Code = "USAGE"
	UnknownCommand     Code = "UNKNOWN_COMMAND"
	UnknownFlag        Code = "UNKNOWN_FLAG"
	UnknownParameter   Code = "UNKNOWN_PARAMETER"
	ValidationFailed   Code = "VALIDATION_FAILED"
	SchemaNotFound     Code = "SCHEMA_NOT_FOUND"
	VersionMismatch    Code = "VERSION_MISMATCH"
	ParsingError       Code = "PARSING_ERROR"
	ConfigError        Code = "CONFIG_ERROR"
	ItemNotFound       Code = "ITEM_NOT_FOUND"
	ToolNotFound       Code = "TOOL_NOT_FOUND"
	ExecutorNotFound   Code = "EXECUTOR_NOT_FOUND"
	SourceNotFound     Code = "SOURCE_NOT_FOUND"
	VersionNotFound    Code = "VERSION_NOT_FOUND"
	AmbiguousItem      Code = "AMBIGUOUS_ITEM"
	CircularDependency Code = "CIRCULAR_DEPENDENCY"
	ChainTooDeep       Code = "CHAIN_TOO_DEEP"
	Unresolvable       Code = "UNRESOLVABLE"
	LockMissing        Code = "LOCK_MISSING"
	LockStale          Code = "LOCK_STALE"
	Drift              Code = "DRIFT"
	LockMismatch       Code = "LOCK_MISMATCH"
	HashMismatch       Code = "HASH_MISMATCH"
	SumConflict        Code = "SUM_CONFLICT"
	PathEscape         Code = "PATH_ESCAPE"
	NotRegular         Code = "NOT_REGULAR"
	TooLarge           Code = "TOO_LARGE"
	Encoding           Code = "ENCODING"
	BundleFileMissing  Code = "BUNDLE_FILE_MISSING"
	BundleFileExtra    Code = "BUNDLE_FILE_EXTRA"
	TranscriptBroken   Code = "TRANSCRIPT_BROKEN"
	TagMoved           Code = "TAG_MOVED"
	ImpostorCommit     Code = "IMPOSTOR_COMMIT"
	LockRepointed      Code = "LOCK_REPOINTED"
	SourceMoved        Code = "SOURCE_MOVED"
	LogEquivocation    Code = "LOG_EQUIVOCATION"
	Rollback           Code = "ROLLBACK"
	Unsigned           Code = "UNSIGNED"
	SigMalformed       Code = "SIG_MALFORMED"
	SigMultiple        Code = "SIG_MULTIPLE"
	SigInvalid         Code = "SIG_INVALID"
	Legacy             Code = "LEGACY"
	KeyUnknown         Code = "KEY_UNKNOWN"
	KeyWeak            Code = "KEY_WEAK"
	Scope              Code = "SCOPE"
	NotYetValid        Code = "NOT_YET_VALID"
	Expired            Code = "EXPIRED"
	Revoked            Code = "REVOKED"
	SignerChanged      Code = "SIGNER_CHANGED"
	Threshold          Code = "THRESHOLD"
	TrustChanged       Code = "TRUST_CHANGED"
	Stale              Code = "STALE"
	LogProof           Code = "LOG_PROOF"
	HiddenChars        Code = "HIDDEN_CHARS"
	PermissionDenied   Code = "PERMISSION_DENIED"
	PolicyDenied       Code = "POLICY_DENIED"
	ApprovalRequired   Code = "APPROVAL_REQUIRED"
	ApprovalDenied     Code = "APPROVAL_DENIED"
	Cooldown           Code = "COOLDOWN"
	ConsentRequired    Code = "CONSENT_REQUIRED"
	SandboxUnavailable Code = "SANDBOX_UNAVAILABLE"
	Network            Code = "NETWORK"
	RegistryError      Code = "REGISTRY_ERROR"
	ProviderError      Code = "PROVIDER_ERROR"
	AuthRequired       Code = "AUTH_REQUIRED"
	AuthFailed         Code = "AUTH_FAILED"
	SessionExpired     Code = "SESSION_EXPIRED"
	LimitExceeded      Code = "LIMIT_EXCEEDED"
	BudgetExceeded     Code = "BUDGET_EXCEEDED"
	ExecutionFailed    Code = "EXECUTION_FAILED"
	Timeout            Code = "TIMEOUT"
	ResourceExceeded   Code = "RESOURCE_EXCEEDED"
	Cancelled          Code = "CANCELLED"
	FileSystemError    Code = "FILE_SYSTEM_ERROR"
	UnknownError       Code = "UNKNOWN_ERROR"
	Internal           Code = "INTERNAL"
)

// Row tells one code: the exit status it leads to, when it is used, and the
// hint shown when the error brings none of its own.
type Row struct {
	Code Code
	Exit int
	When string
	Hint string
}

// Table returns the rows of every code, in the order of docs/errors.md.
func Table() []Row { return table() }

// Lookup returns the row of a code.
func Lookup(c Code) (Row, bool) {
	for _, r := range table() {
		if r.Code == c {
			return r, true
		}
	}
	return Row{}, false
}

// Exit returns the code's exit status, 1 for a code outside the table.
func (c Code) Exit() int {
	if r, ok := Lookup(c); ok {
		return r.Exit
	}
	return 1
}

func table() []Row {
	return []Row{
		{Usage, 2, "the words of the call are wrong or incomplete", "read the command's --help"},
		{UnknownCommand, 2, "no command has that name", "rye --help lists the commands"},
		{UnknownFlag, 2, "the command has no such flag", "the command's --help lists its flags"},
		{UnknownParameter, 2, "the item declares no such parameter or input", "rye show REF lists what the item accepts"},
		{ValidationFailed, 1, "an item, configuration or parameter does not fit its schema; every place is listed", "mend each listed place, then run the command again"},
		{SchemaNotFound, 1, "no extractor supplies a schema for this kind, so only the built-in minimum was checked", "rye doctor shows which extractors were found"},
		{VersionMismatch, 1, "a version is not semantic or lies outside a declared constraint", "change the version or the constraint that names it"},
		{ParsingError, 1, "a file does not parse in its format", "mend the named line and column"},
		{ConfigError, 1, "a configuration file or runtime item holds something it may not", "mend the named key"},
		{ItemNotFound, 4, "no space holds an item with that id", "rye list shows every id"},
		{ToolNotFound, 4, "no space holds a tool with that id", "rye list tool shows every tool"},
		{ExecutorNotFound, 4, "an executor_id names an item that the owner's space and the spaces below it do not hold", "correct executor_id, or add the runtime to the same space"},
		{SourceNotFound, 4, "no repository or registry answers to that source", "check the spelling and your access"},
		{VersionNotFound, 4, "the source has no such version", "rye info SOURCE lists its versions"},
		{AmbiguousItem, 4, "two files give one id in one space", "remove or rename one of the files named"},
		{CircularDependency, 4, "a chain or requirement returns to where it began", "break the cycle at one of the ids printed"},
		{ChainTooDeep, 4, "a chain has more than 10 elements", "let the tool name a runtime directly"},
		{Unresolvable, 4, "resolution has no single answer", "read the reasons listed with the error"},
		{LockMissing, 3, "rye.lock does not exist", "rye lock"},
		{LockStale, 3, "rye.lock does not match rye.yaml", "rye lock"},
		{Drift, 3, "a --check found what its command would change", "run the same command without --check"},
		{LockMismatch, 5, "an item is not the one rye.lock recorded", "look at the change, then accept it with rye lock"},
		{HashMismatch, 5, "the bytes are not the bytes that were signed or recorded", "look at the change (git diff); if it is yours, sign it again with rye sign"},
		{SumConflict, 6, "rye.sum already records another hash for this id and version", "do not delete the line: ask the publisher why a released version changed"},
		{PathEscape, 5, "a path leaves the folder it must stay in, or passes through a link", "replace the link by the file itself"},
		{NotRegular, 5, "a directory, device, socket, pipe or hard link stands where a regular file must", "replace it by a plain file with one link"},
		{TooLarge, 5, "a file is larger than its limit", "keep items small; put data beside them and list it in a bundle manifest"},
		{Encoding, 5, "a text file is not UTF-8, or holds a byte order mark or NUL", "save it as UTF-8 without a byte order mark"},
		{BundleFileMissing, 5, "a file that the bundle manifest lists does not exist", "restore the file, or create the manifest again"},
		{BundleFileExtra, 5, "a file exists that the bundle manifest does not list", "remove the file, or create the manifest again"},
		{TranscriptBroken, 5, "the hash chain of a transcript or of the log of signatures, or a checkpoint, does not hold", "what stands from the named line on cannot be relied on"},
		{TagMoved, 6, "a tag points to another commit than the one locked", "ask the publisher why, before you lock another commit"},
		{ImpostorCommit, 6, "a commit is not reachable from any branch or tag of its repository", "pin a commit that the repository itself publishes"},
		{LockRepointed, 6, "a lock entry changed without a change of the manifest that explains it", "review who changed rye.lock and why"},
		{SourceMoved, 6, "a source redirects to another address", "if the new home is right, name it in rye.yaml"},
		{LogEquivocation, 6, "a transparency log showed two different histories", "keep the evidence files and report them"},
		{Rollback, 6, "a source offers an older state than one already seen", "wait for the source to recover, or ask its owner"},
		{Unsigned, 7, "the file carries no signature", "read it, then rye sign PATH"},
		{SigMalformed, 7, "a signature line is not written exactly as the format demands", "rye sign PATH writes it anew"},
		{SigMultiple, 7, "more than one signature claims the file", "remove all but one, then rye sign PATH"},
		{SigInvalid, 7, "the signature was not made by that key for this kind, id and content", "if you copied or renamed the item yourself, rye sign it under its new id"},
		{Legacy, 7, "the signature has the earlier format, which is not trusted", "read the item, then rye sign it"},
		{KeyUnknown, 7, "no trust document of yours vouches for the key that signed", "rye trust explain REF; rye trust add FILE if you know the owner"},
		{KeyWeak, 7, "a public key is not a safe Ed25519 point", "ask the owner for another key"},
		{Scope, 7, "the key is trusted, but not for this kind, id or use", "rye trust explain REF shows the scope; rye trust add FILE widens your grant"},
		{NotYetValid, 7, "the signature's time lies before the key's validity, or in the future", "check the clock of both machines"},
		{Expired, 7, "the key's validity has ended", "ask the owner to renew the key and sign again"},
		{Revoked, 7, "the key or version was revoked", "do not use it until a key that counts has signed it again, or look for a newer release"},
		{SignerChanged, 7, "a source is signed by another key than before, without a rotation", "ask the publisher before you accept the new key"},
		{Threshold, 7, "fewer distinct trusted keys signed than the policy demands", "ask the missing signers"},
		{TrustChanged, 7, "the project's trust set is not the one you accepted", "review it, then rye trust accept"},
		{Stale, 7, "revocation data is older than the policy allows", "get the newest revocations of the project; an anchor lists them with rye trust refresh"},
		{LogProof, 7, "a transparency log proof is missing or wrong", "pull again; if it persists, report the registry"},
		{HiddenChars, 7, "the text holds characters that a reader cannot see", "remove the characters at the places listed"},
		{PermissionDenied, 8, "the caller lacks a capability", "declare the named capability in <permissions>, if it should hold"},
		{PolicyDenied, 8, "a policy forbids it", "the named policy line decides"},
		{ApprovalRequired, 8, "a person must approve, and none is here", "run it in a terminal, or allow it by policy"},
		{ApprovalDenied, 8, "a person refused, or nobody answered in time", "ask again with a narrower call"},
		{Cooldown, 8, "the version is younger than the policy's minimum age", "wait, or choose an older version"},
		{ConsentRequired, 8, "something of this project would run for the first time", "look at what is named, then consent with the command shown"},
		{SandboxUnavailable, 8, "this machine cannot enforce the required isolation", "rye doctor shows which layers hold"},
		{Network, 9, "the other side did not answer", "try again"},
		{RegistryError, 9, "the registry answered with an error", "try again; its message says when"},
		{ProviderError, 9, "the model provider answered with an error", "try again; its message says when"},
		{AuthRequired, 10, "a key to sign with, its passphrase, or credentials are needed", "the message says which; rye key new makes a key"},
		{AuthFailed, 10, "credentials were refused", "check them and log in again"},
		{SessionExpired, 10, "the login has expired", "log in again"},
		{LimitExceeded, 11, "a limit of turns, tokens, depth, spawns or duration is reached", "raise the named limit, if the work is worth it"},
		{BudgetExceeded, 11, "the spend limit is reached", "raise the budget, if the work is worth it"},
		{ExecutionFailed, 1, "the work ran and failed", "the end of its stderr tells why"},
		{Timeout, 1, "the work took longer than its timeout and was stopped", "raise timeout in the item, or give it less to do"},
		{ResourceExceeded, 1, "the work passed a resource limit and was stopped", "the message names the limit"},
		{Cancelled, 1, "the work was cancelled; 130 at a terminal", "start it again"},
		{FileSystemError, 1, "the machine refused a file operation", "the message names path and cause"},
		{UnknownError, 1, "something failed that has no code of its own", "the message names the cause"},
		{Internal, 70, "a bug in rye", "please report the message with the output of rye version"},
	}
}
