# version: 1.0.0
# tool_type: script
# executor_id: rye/core/runtimes/bash_runtime
# description: The step cost_tracker in bash.
# persistent: lines

# It needs bash, awk and grep, and no other program.
#include json
#include money
#include ratio

# usd sets REPLY to billionths as an amount.
usd() {
  local part
  printf -v part '%09d' $(($1 % 1000000000))
  while [ ${#part} -gt 2 ] && [ "${part%0}" != "$part" ]; do part=${part%0}; done
  REPLY="\"$(($1 / 1000000000)).$part\""
}

# warn adds a warning if a scope has reached its part of the maximum.
warn() {
  local value most
  nano "$2" && value=$REPLY
  nano "$3" && most=$REPLY
  case $warned in
    *"$1"*) return ;;
  esac
  [ "$most" -gt 0 ] && awk -v v="$value" -v a="$warn_at" -v m="$most" 'BEGIN { exit !(a > 0 && v >= a * m) }' || return
  warnings=$warnings${warnings:+,}$1
  usd "$value" && value=$REPLY
  usd "$most" && most=$REPLY
  events=$events${events:+,}"{\"event\":\"budget_warning\",\"data\":{\"scope\":$1,\"value\":$value,\"max\":$most}}"
}

while IFS= read -r line || [ -n "$line" ]; do
  read_members "$line" '/(call|conversation_file|usage/.*|limits/.*|params/.*)$'
  of /call null && call=$REPLY
  of /usage/spend && spend=$REPLY
  of /limits/spend && most=$REPLY
  of /params/warn_at 0 && warn_at=$REPLY
  warnings='' events='' warned=$(events data/scope budget_warning)
  warn '"thread"' "$spend" "$most"
  for ((n = 0; ; n++)); do
    of /params/periods/$n/scope && scope=$REPLY
    of /params/periods/$n/value && value=$REPLY
    of /params/periods/$n/max && maximum=$REPLY
    [ -n "$scope" ] || break
    warn "$scope" "$value" "$maximum"
  done
  of /usage/context_tokens && tokens=$REPLY
  of /usage/window && window=$REPLY
  of /usage/turns && turns=$REPLY
  of /limits/turns && most_turns=$REPLY
  of /usage/input_tokens && input=$REPLY
  of /usage/output_tokens && output=$REPLY
  printf '{"call":%s,"success":true,"data":{"turns":%s,"max_turns":%s,"tokens":%s,"spend":%s,"max_spend":%s,"context_ratio":%s,"warnings":[%s]},"events":[%s]}\n' \
    "$call" "$turns" "$most_turns" $((input + output)) "$spend" "$most" "$(ratio "$tokens" "$window")" "$warnings" "$events"
done
