import { readdirSync, readFileSync } from 'node:fs'

/** The processes of this machine, each of which can end before the caller reads it. Linux only, like this whole file. */
export const processIds = (): number[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)

/** The content of a process's file in /proc, such as `cmdline`. Empty for a process that has ended, or of another account. */
export function readProcessFile(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    return ''
  }
}

/** The fields of `stat` of a process after its name, starting with its state and its parent. Empty for a process that has ended. */
export const statOf = (pid: number): string[] => readProcessFile(pid, 'stat').split(') ').at(-1)!.split(' ')

export const childrenOf = (parent: number): number[] => processIds().filter(pid => statOf(pid)[1] === String(parent))

/** Whether a process runs. A process that has ended and waits for its parent does not. */
export const isAlive = (pid: number): boolean => !['', 'Z', 'X'].includes(statOf(pid)[0]!)

/** The processes whose environment, or whose command line, contains a text. This does not use the code under test. */
export const processesWith = (text: string): number[] =>
  processIds().filter(
    pid => pid !== process.pid && ['environ', 'cmdline'].some(file => readProcessFile(pid, file).includes(text)),
  )
