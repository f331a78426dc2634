# version: 1.0.0
# tool_type: script
# executor_id: rye/core/runtimes/bash_runtime
# description: The step limit_checker in bash.
# persistent: lines

# It needs bash and awk, and no other program.
#include json
#include money

while IFS= read -r line || [ -n "$line" ]; do
  read_members "$line" '/(call|usage/.*|limits/.*)$'
  of /call null && call=$REPLY
  of /usage/turns && turns=$REPLY
  of /limits/turns && most_turns=$REPLY
  of /usage/new_tokens && tokens=$REPLY
  of /limits/tokens && most_tokens=$REPLY
  of /usage/spend && spend=$REPLY
  of /limits/spend && most_spend=$REPLY
  of /usage/duration_ms && seconds=$((REPLY / 1000))
  of /limits/duration_seconds && most_seconds=$REPLY
  nano "$spend" && spent=$REPLY
  nano "$most_spend" && most=$REPLY
  code=LIMIT_EXCEEDED limit='' reached=null events=''
  if [ "$turns" -ge "$most_turns" ]; then
    limit="\"turns\",\"value\":$turns,\"max\":$most_turns"
  elif [ "$tokens" -ge "$most_tokens" ]; then
    limit="\"tokens\",\"value\":$tokens,\"max\":$most_tokens"
  elif [ "$spent" -gt 0 ] && [ "$spent" -ge "$most" ]; then
    code=BUDGET_EXCEEDED limit="\"spend\",\"value\":$spend,\"max\":$most_spend"
  elif [ "$seconds" -ge "$most_seconds" ]; then
    limit="\"duration_seconds\",\"value\":$seconds,\"max\":$most_seconds"
  fi
  if [ -n "$limit" ]; then
    reached="{\"code\":\"$code\",\"limit\":$limit}" events="{\"event\":\"limit_reached\",\"data\":{\"limit\":$limit}}"
  fi
  printf '{"call":%s,"success":true,"data":{"reached":%s},"events":[%s]}\n' "$call" "$reached" "$events"
done
