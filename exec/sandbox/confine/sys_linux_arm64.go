package confine

const sysSeccomp = 277

const sysStatx = 291
