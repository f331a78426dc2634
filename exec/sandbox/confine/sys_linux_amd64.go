package confine

const sysSeccomp = 317

const sysStatx = 332
