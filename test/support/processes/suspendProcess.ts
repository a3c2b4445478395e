import { readdirSync } from 'node:fs'
import { eventually } from '../waiting/eventually.ts'
import { readProcessFile } from './processFiles.ts'

/** Pauses a process until it gets SIGCONT. Resolves once all its threads are stopped, if the system reports that: until one of them has handled the signal, the others continue. */
export async function suspendProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  if (process.platform !== 'linux') return
  const tasks = `/proc/${pid}/task`
  await eventually('a process that stands still', () =>
    readdirSync(tasks).every(task => /\) [Tt] /.test(readProcessFile(pid, `task/${task}/stat`))),
  )
}
