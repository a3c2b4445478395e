import { readdirSync } from 'node:fs'
import { eventually } from '../waiting/eventually.ts'
import { readProcessFile } from './processFiles.ts'

/** Stops a process until it gets SIGCONT. Where the system tells, resolves once all its threads stand still: until one of them has taken the signal, the others go on. */
export async function suspendProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  if (process.platform !== 'linux') return
  const tasks = `/proc/${pid}/task`
  await eventually('a process that stands still', () =>
    readdirSync(tasks).every(task => /\) [Tt] /.test(readProcessFile(pid, `task/${task}/stat`))),
  )
}
