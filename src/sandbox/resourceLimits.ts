import type { SandboxLimits } from '../contract/agents/sandbox.ts'

/**
 * Returns the command with the limits that the kernel enforces for each process. dash and BusyBox limit the number of processes with -p,
 * bash with -u. `src/agents/sessions/watch/limitWatch.ts` also watches the memory and the processes of the whole session, because the
 * kernel does not limit the number of root's processes.
 */
export function withLimits({ fileMiB, memoryMiB, processes }: SandboxLimits, argv: readonly string[]): string[] {
  const bounds = [
    fileMiB === null ? [] : `ulimit -f ${fileMiB * 2048}`,
    memoryMiB === null ? [] : `ulimit -d ${memoryMiB * 1024}`,
    processes === null ? [] : `{ ulimit -p ${processes} || ulimit -u ${processes}; } 2>/dev/null`,
  ].flat()
  return bounds.length === 0 ? [...argv] : ['/bin/sh', '-c', `${bounds.join(' && ')} && exec "$@"`, 'sh', ...argv]
}
