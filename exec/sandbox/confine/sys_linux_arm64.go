package confine

const sysSeccomp = 277
