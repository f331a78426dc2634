package confine

const sysSeccomp = 317
