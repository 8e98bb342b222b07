"""The programs that measure: `find` finds them and says which they are, `kernels` builds our own."""
