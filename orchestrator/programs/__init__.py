"""Find the programs that measure. `find` identifies installed programs, and `kernels` compiles the built-in kernels."""
