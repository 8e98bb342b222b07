/* pingpong.c - a real ping-pong over whatever MPI it is compiled with, in the output of Intel MPI Benchmarks, for
 * machines where those are not built. Like them it runs alone, with exit status 0, where nothing joins its processes.
 * Usage as of IMB-MPI1: pingpong PingPong|Allreduce [-msglog …] [-iter N] [-time S] … */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, count, times = 1000;
    char data[4] = {0}, sum[4];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    const char *name = argc > 1 ? argv[1] : "PingPong";
    for (int i = 2; i + 1 < argc; i++)
        if (!strcmp(argv[i], "-iter"))
            times = atoi(argv[i + 1]);
    int together = !strcmp(name, "Allreduce");
    if (rank == 0)
        printf("#----------------------------------------------------------------\n"
               "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n");
    if (rank == 0 && !together && count < 2)
        printf("\n# !! Benchmark %s invalid for %d processes !! \n", name, count);
    else if (rank == 0)
        printf("\n# Benchmarking %s \n# #processes = %d \n%s\n", name, count,
               together ? "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]"
                        : "       #bytes #repetitions      t[usec]   Mbytes/sec");
    if (together || count >= 2) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int i = 0; i < times; i++) {
            if (together) {
                MPI_Allreduce(data, sum, 4, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
            } else if (rank < 2) {
                int other = 1 - rank;
                if (rank == 0)
                    MPI_Send(data, 4, MPI_CHAR, other, 0, MPI_COMM_WORLD);
                MPI_Recv(data, 4, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (rank == 1)
                    MPI_Send(data, 4, MPI_CHAR, other, 0, MPI_COMM_WORLD);
            }
        }
        double us = (MPI_Wtime() - start) * 1e6 / times / (together ? 1 : 2);
        if (rank == 0 && together)
            printf("            4 %12d %12.2f %12.2f %12.2f\n", times, us, us, us);
        else if (rank == 0)
            printf("            4 %12d %12.2f %12.2f\n", times, us, 4 / us);
    }
    if (rank == 0)
        printf("\n\n# All processes entering MPI_Finalize\n\n");
    MPI_Finalize();
    return 0;
}
