import { afterAll, afterEach } from 'vitest'

const maxKept = 1000

/** The output since the last test of servers and programs that run in the process of the tests. */
interface Kept {
  lines: string[]
  write(text: string): void
}

/** The files of a process share one, because they share its streams. */
const global: { keptOutput?: Kept } = globalThis as never
global.keptOutput ??= keepOutput()
const kept = global.keptOutput

/** Records the output to stdout and stderr instead of showing it. */
function keepOutput(): Kept {
  const lines: string[] = []
  const write = process.stderr.write.bind(process.stderr)
  for (const stream of [process.stdout, process.stderr])
    stream.write = (chunk: string | Uint8Array, ...more: unknown[]) => {
      lines.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString())
      if (lines.length > maxKept) lines.shift()
      const done = more.find(each => typeof each === 'function')
      if (done) process.nextTick(done as () => void)
      return true
    }
  return { lines, write }
}

/** Only the output of a failed test is shown. */
function show(failed: boolean): void {
  const text = kept.lines.splice(0).join('')
  if (failed && text) kept.write(text)
}

afterEach(({ task }) => show(task.result?.state === 'fail'))
// oxlint-disable-next-line no-empty-pattern -- vitest wants a pattern there.
afterAll(({}, { result }) => show(result?.state === 'fail'))
