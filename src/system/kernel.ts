import { closeSync, openSync, readSync } from 'node:fs'

const buffer = Buffer.alloc(4096)
/** The positions of the state and the start of a process in the result of `readStat`. */
const [stateField, startField] = [0, 19]

/**
 * A mark that distinguishes a process of this machine from any other that had or will have its PID: the boot, and the start of
 * the process in it. Undefined if it has ended, or this is not Linux.
 */
export function processMark(pid: number): string | undefined {
  if (process.platform !== 'linux') return undefined
  const boot = readKernel('/proc/sys/kernel/random/boot_id')?.trim()
  const stat = readStat(pid)
  return boot && stat && stat[stateField] !== 'Z' && stat[stateField] !== 'X'
    ? `${boot}/${stat[startField]!}`
    : undefined
}

/**
 * The kernel's fields of a process, from its state on. Undefined if there is no such process. Omits its name, which can contain
 * spaces and brackets.
 */
export function readStat(pid: number): string[] | undefined {
  const stat = readKernel(`/proc/${pid}/stat`)
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/**
 * Reads a kernel file, which has no size and fits the buffer. Listing all processes reads one per process, and this takes half
 * the time of `readFileSync`.
 */
export function readKernel(path: string): string | undefined {
  let file: number | undefined
  try {
    file = openSync(path, 'r')
    return buffer.toString('latin1', 0, readSync(file, buffer, 0, buffer.length, null))
  } catch {
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
