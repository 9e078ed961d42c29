#!/bin/sh
# The test blocks of programs by two processes of an MPI job, if there is MPI: processes.sh FLC PROGRAM.fl..
flc=$1
shift
if ! command -v "${MPICC:-mpicc}" > /dev/null || ! command -v "${MPIRUN:-mpirun}" > /dev/null; then
  echo "skipped: there is no MPI (Debian: libopenmpi-dev openmpi-bin)"
  exit 77
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec "$flc" test --stage device --mpi 2 --timeout 300 "$@"
