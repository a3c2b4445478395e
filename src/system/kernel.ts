import { closeSync, openSync, readSync } from 'node:fs'

const buffer = Buffer.alloc(4096)
/** Where the state and the start of a process stand in what `readStat` gives. */
const [stateField, startField] = [0, 19]

/**
 * What distinguishes a process of this machine from any other that had or will have its pid: the boot, and when in it the process
 * started. Undefined when it has ended, or this is not Linux.
 */
export function processMark(pid: number): string | undefined {
  if (process.platform !== 'linux') return undefined
  const boot = readKernel('/proc/sys/kernel/random/boot_id')?.trim()
  const stat = readStat(pid)
  return boot && stat && stat[stateField] !== 'Z' && stat[stateField] !== 'X'
    ? `${boot}/${stat[startField]!}`
    : undefined
}

/** The kernel's fields of a process, from its state on; undefined when there is none. Its name, which is left out, may hold spaces and brackets. */
export function readStat(pid: number): string[] | undefined {
  const stat = readKernel(`/proc/${pid}/stat`)
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Reads a file of the kernel's, which has no size and fits the buffer. A look at all processes reads one for each: this costs half of what `readFileSync` does. */
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
