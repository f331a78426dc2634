# version: 1.0.0
# tool_type: script
# executor_id: rye/core/runtimes/bash_runtime
# description: The step provider_call in bash.
# persistent: lines
# sandbox: {"broker": true, "net": "none"}
# calls: ["rye.execute.tool.*"]

# It needs bash and awk, and no other program.
# Name your provider in calls: rye.execute.tool.rye.agent.providers.anthropic. The request, its
# reservation, its record and the key of the service are rye's.
. "$RYE_LIB/rye.sh"
#include json

# cut prints at most 2,000 bytes of a text, without a part of a character at the end.
cut() {
  LC_ALL=C awk '{
    s = substr($0, 2, length($0) - 2); i = 1
    while (i <= length(s)) {
      c = substr(s, i, 1); n = 1; long = 1
      if (c == "\\") {
        long = 2
        if (substr(s, i + 1, 1) == "u") {
          hex = tolower(substr(s, i + 2, 4)); long = 6; n = 3
          if (hex ~ /^d[89ab]/) { long = 12; n = 4 }
          else if (hex ~ /^00[0-7]/) n = 1
          else if (hex ~ /^0[0-7]/) n = 2
        }
      } else if (c >= "\360") { long = n = 4 }
      else if (c >= "\340") { long = n = 3 }
      else if (c >= "\300") { long = n = 2 }
      if (used + n > 2000) break
      used += n; i += long
    }
    print "\"" substr(s, 1, i - 1) "\""
  }'
}

while IFS= read -r line || [ -n "$line" ]; do
  read_members "$line" '/(call|params/.*)$'
  of /call null && call=$REPLY
  of /params/delay 0 && delay=$REPLY
  of /params/delay_ms 0 && wait=$REPLY
  of /params/provider && item=$REPLY
  [ "$delay$wait" = 00 ] || sleep "$(awk -v s="$delay" -v ms="$wait" 'BEGIN { print (s > 0) ? s : ms / 1000 }')"
  answer=$(rye_call execute "{\"item_type\":\"tool\",\"item_id\":\"${item#\"tool:}}")
  failed=$?
  read_members "$answer" '/(data/[a-z]+|error/message)$'
  if [ $failed -ne 0 ]; then
    of /error/message '"the call of the model failed"'
    printf '{"call":%s,"success":false,"error":%s}\n' "$call" "$REPLY"
    continue
  fi
  of /data/turn && turn=$REPLY
  of /data/stop && stop=$REPLY
  of /data/text && text=$(printf '%s\n' "$REPLY" | cut)
  of /data/calls && calls=$REPLY
  of /data/usage && usage=$REPLY
  printf '{"call":%s,"success":true,"data":{"turn":%s,"stop":%s,"text":%s,"calls":%s,"usage":%s},"events":[]}\n' \
    "$call" "$turn" "$stop" "$text" "$calls" "$usage"
done
