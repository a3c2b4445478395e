import { afterAll } from 'vitest'

/** The state of the process that the files of a worker share. */
const snapshot = () => ({
  ...Object.fromEntries(Object.entries(process.env).map(([name, value]) => [`process.env.${name}`, value])),
  'process.cwd()': process.cwd(),
  Date,
  setTimeout,
  setInterval,
  setImmediate,
  fetch,
})

const before: Record<string, unknown> = snapshot()

/** Fails a file that leaves shared state changed, because the files after it would run with that state. */
afterAll(() => {
  const after: Record<string, unknown> = snapshot()
  const changed = Object.keys({ ...before, ...after }).filter(name => before[name] !== after[name])
  if (changed.length > 0) throw new Error(`The file does not restore ${changed.join(', ')}.`)
})
