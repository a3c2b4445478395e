import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'

// Preloaded into a server: records the start and the end of each process that it starts, in milliseconds since 1970.
const file = process.env.BOARD_BENCH_TRACE
const now = () => performance.timeOrigin + performance.now()
const record = entry => appendFileSync(file, `${JSON.stringify(entry)}\n`)
subscribe('child_process', ({ process: child }) => {
  const began = now()
  child.once('spawn', () => record({ pid: child.pid, began, argv: child.spawnargs }))
  child.once('exit', () => record({ pid: child.pid, ended: now() }))
})
