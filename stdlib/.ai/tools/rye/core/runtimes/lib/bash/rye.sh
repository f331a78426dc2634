# rye:signed:2026-11-20T00:00:00Z:115482c1a57e93bd8566f3d7866a931eba79ecd630d88a1d1faa36b4d8a1e263:dyg2kSueLu/5MFHMcJmCC/YjYNWI8NYJX28d/kc6iQMr+T6lh8WGj0tUI96oCzvzZdKXgXGMRCpqIKdKTijNDQ:a1ae3899d5f9ee5766f556e5033d2ceedd334eb3e192c9506528618b728f96a4
# Calls rye from a tool whose item has sandbox: {"broker": true} and calls: [...].
#
#     . "$RYE_LIB/rye.sh"
#     rye_call execute '{"item_type": "tool", "item_id": "rye/file-system/read",
#                        "parameters": {"file_path": "README.md"}}'
#
# rye_call VERB ARGUMENTS prints the result as one JSON document, {"success": ...}, and
# returns 0 if it was a success, 1 if not, and 2 if there is no connection. ARGUMENTS is a
# JSON object as rye serve lists it. One call at a time: do not call it in the background.

RYE_CALLS=0

rye_call() {
  local LC_ALL=C verb=$1 arguments=${2:-"{}"} line text meta
  if [ -z "${RYE_BROKER_FD:-}" ]; then
    echo 'rye_call: this tool has no broker: its item needs sandbox: {"broker": true} and calls: [...]' >&2
    return 2
  fi
  case $verb in
    execute | search | load | sign) ;;
    *)
      echo "rye_call: $verb is not execute, search, load or sign" >&2
      return 2
      ;;
  esac
  # A line break of JSON is a space, and a message is one line.
  arguments=${arguments//$'\n'/ }
  RYE_CALLS=$((RYE_CALLS + 1))
  meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"rye.sh","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}'
  # A connection that rye has closed must not end the tool by a signal.
  if ! (trap '' PIPE && printf '{"jsonrpc":"2.0","id":"%s-%s","method":"tools/call","params":{"name":"%s",%s,"arguments":%s}}\n' \
    "$BASHPID" "$RYE_CALLS" "$verb" "$meta" "$arguments" >&"$RYE_BROKER_FD") 2>/dev/null ||
    ! IFS= read -r line <&"$RYE_BROKER_FD"; then
    echo 'rye_call: rye has closed the connection' >&2
    return 2
  fi
  case $line in
    *'"content":[{"type":"text","text":"'*) ;;
    *)
      # The message itself was refused: it states why.
      printf '%s\n' "$line"
      return 1
      ;;
  esac
  # The result is the text between the first quote and the last one before a bracket.
  text=${line#*'"content":[{"type":"text","text":"'}
  text=${text%'"}]'*}
  text=${text//\\\"/\"} # a quote in it always has a backslash of its own before it
  printf '%b\n' "$text"
  case $text in
    '{"success":true'*) return 0 ;;
  esac
  return 1
}
