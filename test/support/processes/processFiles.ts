import { readdirSync, readFileSync } from 'node:fs'

/** The processes of this machine, of which each may end before one has looked at it. Linux only, as all here. */
export const processIds = (): number[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)

/** What a file of a process in /proc holds, such as `cmdline`: nothing for a process that has ended, or is another account's. */
export function readProcessFile(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    return ''
  }
}

/** What `stat` says of a process after its name, its state and its parent first: nothing for one that has ended. */
export const statOf = (pid: number): string[] => readProcessFile(pid, 'stat').split(') ').at(-1)!.split(' ')

export const childrenOf = (parent: number): number[] => processIds().filter(pid => statOf(pid)[1] === String(parent))

/** Whether a process runs: one that has ended and waits for its parent does not. */
export const isAlive = (pid: number): boolean => !['', 'Z', 'X'].includes(statOf(pid)[0]!)

/** The processes whose environment, or whose command line, holds a text. This does not go by the code under test. */
export const processesWith = (text: string): number[] =>
  processIds().filter(
    pid => pid !== process.pid && ['environ', 'cmdline'].some(file => readProcessFile(pid, file).includes(text)),
  )
