# version: 1.0.0
# tool_type: script
# executor_id: rye/core/runtimes/bash_runtime
# description: The step continuation in bash.
# persistent: lines

# It needs bash, awk and grep, and no other program.
#include json
#include ratio

while IFS= read -r line || [ -n "$line" ]; do
  read_members "$line" '/(call|conversation_file|usage/.*|config/agent/coordination/continuation/.*)$'
  of /call null && call=$REPLY
  of /usage/context_tokens && tokens=$REPLY
  of /usage/window && window=$REPLY
  of /config/agent/coordination/continuation/trigger_threshold 1 && trigger=$REPLY
  of /config/agent/coordination/continuation/pressure_threshold 1 && threshold=$REPLY
  read -r full limit pressure <<<"$(ratio "$tokens" "$window" "$trigger" "$threshold")"
  code='' event='' events=''
  if [ "$limit" = true ]; then
    code=CONTEXT_FULL event=context_limit
  elif [ "$pressure" = true ]; then
    before=$(events event context_pressure context_compacted thread_continued)
    [ "${before##*$'\n'}" = '"context_pressure"' ] || event=context_pressure
  fi
  figures="\"ratio\":$full,\"tokens\":$tokens,\"window\":$window"
  [ -z "$event" ] || events="{\"event\":\"$event\",\"data\":{$figures}}"
  printf '{"call":%s,"success":true,"data":{%s,"pressure":%s,"limit":%s,"code":"%s","event":"%s"},"events":[%s]}\n' \
    "$call" "$figures" "$pressure" "$limit" "$code" "$event" "$events"
done
