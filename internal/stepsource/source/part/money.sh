# nano sets REPLY to an amount such as "0.25" in billionths.
nano() {
  local usd=${1//\"/} part=000000000
  [ "$usd" = "${usd#*.}" ] || part=${usd#*.}000000000
  REPLY=$((10#${usd%%.*} * 1000000000 + 10#${part:0:9}))
}
