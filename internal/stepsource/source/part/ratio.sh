# ratio prints the part of the window that is full, with three digits, and for each other argument
# whether it is reached.
ratio() {
  awk -v n="$1" -v w="$2" -v bounds="${*:3}" 'BEGIN {
    r = 0
    if (w > 0) r = int(n / w * 1000 + 0.5) / 1000
    printf "%.10g", r
    for (i = 1; i <= split(bounds, b, " "); i++) printf " %s", (w > 0 && r >= b[i]) ? "true" : "false"
  }'
}
