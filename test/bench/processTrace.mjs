import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'

// Preloaded into a server: records each process that it starts, with its start and end in milliseconds since 1970.
const file = process.env.BOARD_BENCH_TRACE
const now = () => performance.timeOrigin + performance.now()
subscribe('child_process', ({ process: child }) => {
  const began = now()
  child.once('exit', () => appendFileSync(file, `${JSON.stringify({ began, ended: now(), argv: child.spawnargs })}\n`))
})
