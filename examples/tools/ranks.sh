#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts a program of ranks by mpirun, with the options that most runs need.
#     sh examples/tools/ranks.sh [-v] [--gpus-per-rank N] -n 4 [other options of mpirun] ./program [arguments]
# -v writes the command. MPIRUN in the environment is the mpirun to call.
# --gpus-per-rank N: of the GPUs of a host its first rank sees the first N, the next rank the next N, and so on, by
# CUDA_VISIBLE_DEVICES. Where this variable is set, they are N of those that it names.
#
# It adds, where the command has no such option:
# - -x NAME for each variable LOCUS_*, OMP_*, TF_* and CUDA_VISIBLE_DEVICES that is set. Ranks on other hosts get no
#   other variables of this shell.
# - the keepalive of mpirun's daemons: the job ends a minute after a host or a link is gone, not after 8 minutes.
# - binding: each rank gets an equal part of the cores of its host; all hosts have as many as this one, and as many
#   ranks. More ranks than cores are not bound, and a rank that waits yields. Where hosts have different numbers of
#   slots, and where a batch system gives the hosts, mpirun binds as it does without this script.
# With the mpirun of MPICH it adds -genvlist and no more. Only Open MPI 4.1 was tried.
set -eu
mpirun=${MPIRUN:-mpirun}
verbose='' gpus=''
while :; do
  case ${1:-} in
    -v) verbose=1 ;;
    --gpus-per-rank)
      gpus=${2:-}
      case $gpus in
        '' | *[!0-9]* | 0)
          echo 'ranks.sh: --gpus-per-rank needs the number of GPUs of a rank' >&2
          exit 2 ;;
      esac
      shift ;;
    *) break ;;
  esac
  shift
done
if [ $# -eq 0 ]; then
  echo 'usage: sh ranks.sh [-v] [--gpus-per-rank N] -n RANKS [options of mpirun] PROGRAM [arguments]' >&2
  exit 2
fi
# what each rank runs in front of its program
# shellcheck disable=SC2016
own_gpus='each=$1
shift
at=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${SLURM_LOCALID:-}}}
if [ -z "$at" ]; then
  echo "ranks.sh: no variable says which rank of its host this is; leave --gpus-per-rank out" >&2
  exit 2
fi
first=$((at * each)) end=$((at * each + each))
if [ -z "${CUDA_VISIBLE_DEVICES+set}" ]; then
  CUDA_VISIBLE_DEVICES=$first
  while [ $((first += 1)) -lt "$end" ]; do CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES,$first; done
elif [ -n "$CUDA_VISIBLE_DEVICES" ]; then
  all=$(printf "%s\n" "$CUDA_VISIBLE_DEVICES" | awk -F , "{ print NF }")
  if [ "$end" -gt "$all" ]; then
    echo "ranks.sh: rank $at of its host needs GPUs up to number $end of CUDA_VISIBLE_DEVICES, which names $all;" \
      "start fewer ranks, or give each fewer GPUs" >&2
    exit 2
  fi
  CUDA_VISIBLE_DEVICES=$(printf "%s\n" "$CUDA_VISIBLE_DEVICES" | cut -d , -f "$((first + 1))-$end")
fi
export CUDA_VISIBLE_DEVICES
exec "$@"'
if ! version=$("$mpirun" --version 2>&1); then
  echo "ranks.sh: '$mpirun --version' fails; install openmpi-bin, or set MPIRUN" >&2
  exit 2
fi

# lines of a host and its slots; returns: the number of hosts, 0 where their slots differ
count_hosts() {
  awk 'NF { slots[$1] += $2 }
       END {
         for (host in slots) {
           if (hosts++ && slots[host] != last) different = 1
           last = slots[host]
         }
         print different ? 0 : hosts + 0
       }'
}

# the options that we know, up to the program: ranks, hosts and variables
ranks='' hosts=1 given=' ' option='' before=0 found=''
if [ "${SLURM_JOB_ID:-}${PBS_NODEFILE:-}${LSB_HOSTS:-}${PE_HOSTFILE:-}${OMPI_MCA_orte_default_hostfile:-}" ]; then
  hosts=0
fi
for word; do
  before=$((before + 1))
  case $option in
    '') ;;
    -n | -np | --np | -c)
      ranks=$word option=
      continue ;;
    -H | -host | --host)
      hosts=$(printf '%s\n' "$word" | tr ',' '\n' | awk -F : '{ print $1, (NF > 1 ? $2 : 1) }' | count_hosts) option=
      continue ;;
    -hostfile | --hostfile | -machinefile | --machinefile)
      hosts=$(sed 's/#.*//; s/^\([^ ]*\):\([0-9]*\)/\1 slots=\2/; s/\([^_]\)slots *= */\1 /' "$word" |
        count_hosts) option=
      continue ;;
    -x)
      given="$given${word%%=*} " option=
      continue ;;
    -mca | --mca | -gmca | --gmca | -genv | -env)
      option=value
      continue ;;
    *)
      option=
      continue ;;
  esac
  case $word in
    -n | -np | --np | -c | -H | -host | --host | -hostfile | --hostfile | -machinefile | --machinefile | -x | \
    -mca | --mca | -gmca | --gmca | -bind-to | --bind-to | -map-by | --map-by | -rank-by | --rank-by | -wdir | --wdir | -wd | \
    -N | -npernode | --npernode | -npersocket | --npersocket | -ppr | --ppr | -rf | --rankfile | -cpu-set | --cpu-set | \
    -cpu-list | --cpu-list | -slot-list | --slot-list | -cpus-per-proc | --cpus-per-proc | -cpus-per-rank | \
    --cpus-per-rank | -path | --path | -prefix | --prefix | -stdin | --stdin | -timeout | --timeout | -tune | --tune | -am | \
    -output-filename | --output-filename | -default-hostfile | --default-hostfile | -report-pid | --report-pid | \
    -report-uri | --report-uri | -xterm | --xterm | -genv | -env | -genvlist | -envlist | -f | -ppn)
      option=$word ;;
    -*) ;;
    *)
      found=1
      break ;;
  esac
done
if [ -n "$gpus" ]; then
  if [ -z "$found" ]; then
    echo 'ranks.sh: --gpus-per-rank finds no program in the command' >&2
    exit 2
  fi
  left=$# at=0
  while [ $((at += 1)) -le "$left" ]; do
    if [ "$at" -eq "$before" ]; then set -- "$@" sh -c "$own_gpus" ranks.sh "$gpus"; fi
    set -- "$@" "$1"
    shift
  done
fi
names=$(awk 'BEGIN { for (name in ENVIRON)
                       if (name ~ /^((LOCUS|OMP|TF)_[A-Za-z0-9_]*|CUDA_VISIBLE_DEVICES)$/) print name }' | sort)

case $version in
  *'Open MPI'* | *OpenRTE*)
    case " $* " in
      *' oob_tcp_keepalive_'*) ;;
      *)
        set -- --mca oob_tcp_keepalive_time 30 --mca oob_tcp_keepalive_intvl 10 \
          --mca oob_tcp_keepalive_probes 3 "$@" ;;
    esac
    case " $* " in
      *' -bind-to '* | *' --bind-to '* | *' -map-by '* | *' --map-by '* | *' -rf '* | *' --rankfile '* | \
      *'-cpus-per-'* | *'cpu-set '* | *'cpu-list '* | *' --by'* | *' -by'*) ;;
      *)
        # cores, not hardware threads, and only those that this shell may use
        allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status 2>/dev/null || true)
        cores=$(lscpu -p=CPU,CORE,SOCKET 2>/dev/null | awk -F , -v allowed="$allowed" '
          BEGIN { all = split(allowed, part, ",") }
          /^[0-9]/ {
            may = all == 0
            for (k = 1; k <= all; ++k) {
              ends = split(part[k], range, "-")
              if ($1 >= range[1] + 0 && $1 <= range[ends] + 0) may = 1
            }
            if (may && !seen[$2, $3]++) ++cores
          }
          END { print cores + 0 }')
        if [ "$cores" -eq 0 ]; then cores=$(nproc 2>/dev/null || echo 1); fi
        case $ranks in
          '' | *[!0-9]* | 0) ;;  # mpirun counts
          *[0-9]) if [ "$hosts" -gt 0 ]; then
            each=$(((ranks + hosts - 1) / hosts))
            if [ "$each" -gt "$cores" ]; then
              set -- --bind-to none --oversubscribe --mca mpi_yield_when_idle 1 "$@"
            else
              set -- --map-by "ppr:$each:node:PE=$((cores / each))" --bind-to core:if-supported "$@"
            fi
          fi ;;
        esac ;;
    esac
    for name in $names; do
      case $given in
        *" $name "*) ;;
        *) set -- -x "$name" "$@" ;;
      esac
    done ;;
  *HYDRA*)
    list=$(printf %s "$names" | tr '\n' ,)
    if [ -n "$list" ]; then set -- -genvlist "$list" "$@"; fi ;;
  *) echo 'ranks.sh: this mpirun is not one of Open MPI or MPICH; it gets no other options' >&2 ;;
esac
if [ -n "$verbose" ]; then echo "$mpirun $*" >&2; fi
exec "$mpirun" "$@"
