import type { SandboxLimits } from '../contract/agents/sandbox.ts'

/**
 * The command behind the bounds that the kernel keeps for each process. dash and BusyBox count processes with -p, bash with -u. The
 * memory and the number of processes of a whole session are watched as well (`src/agents/sessions/watch/limitWatch.ts`): root has no bound of processes.
 */
export function withLimits({ fileMiB, memoryMiB, processes }: SandboxLimits, argv: readonly string[]): string[] {
  const bounds = [
    fileMiB === null ? [] : `ulimit -f ${fileMiB * 2048}`,
    memoryMiB === null ? [] : `ulimit -d ${memoryMiB * 1024}`,
    processes === null ? [] : `{ ulimit -p ${processes} || ulimit -u ${processes}; } 2>/dev/null`,
  ].flat()
  return bounds.length === 0 ? [...argv] : ['/bin/sh', '-c', `${bounds.join(' && ')} && exec "$@"`, 'sh', ...argv]
}
