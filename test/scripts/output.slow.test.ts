import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createTextTail } from '../../src/process/textTail.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { slowdown } from '../support/waiting/eventually.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { newScript } from './scriptBoard.ts'

const keptBytes = 64 * 1024
let board: TestBoard
let projectId: string
beforeAll(async () => {
  board = await startBoard()
  projectId = (await board.client.projects.create({ name: 'Output', path: board.folder('output') })).id
})
afterAll(() => board.close())

test('is kept to its last 64 KiB in whole characters, with the number of bytes before', async () => {
  const script = await newScript(
    board.client,
    projectId,
    'i=0; while [ $i -lt 30000 ]; do echo "€ line $i"; i=$((i+1)); done',
  )
  const live = await follow(board.url, board.token, projectId)
  await script.run()
  const { output, outputStart } = await script.ended()
  const whole = Array.from({ length: 30_000 }, (_, line) => `€ line ${line}\n`).join('')
  expect(Buffer.byteLength(output)).toBeLessThanOrEqual(keptBytes)
  expect(Buffer.byteLength(output)).toBeGreaterThan(keptBytes - 4)
  expect(output).toBe(whole.slice(outputStart))
  const { data } = await live.message('script.finished')
  expect(data).toMatchObject({ output: whole.slice(-4096), outputStart: whole.length - 4096 })
  live.close()
})

test('is streamed: each read continues the previous one without a gap', async () => {
  const script = await newScript(
    board.client,
    projectId,
    'for i in 1 2 3 4 5 6; do printf "€%s 😀" $i; sleep 0.1; done',
  )
  await script.run()
  let read = ''
  let reads = 0
  for (let run = await script.status(0); ; run = await script.status(read.length)) {
    expect(run.outputStart).toBe(read.length)
    read += run.output
    if (run.output) reads++
    if (run.status !== 'running') break
  }
  expect(read).toBe('€1 😀€2 😀€3 😀€4 😀€5 😀€6 😀')
  expect(reads).toBeGreaterThan(2)
})

test('that is not text is converted to text', async () => {
  const script = await newScript(board.client, projectId, 'printf "a\\000b\\377c\\342\\202"; exit 0')
  await script.run()
  expect((await script.ended()).output).toBe('a\u2400b\ufffdc\ufffd')
})

test('of a script that prints without a pause keeps the server responsive, with few writes', async () => {
  const script = await newScript(board.client, projectId, 'yes "a line that comes again and again" # $TAG')
  const writes = vi.spyOn(board.server.app.db, 'transaction')
  await script.run()
  await script.until('much output', run => run.outputStart > 2_000_000)
  const tookMs: number[] = []
  for (let at = 0; at < 100; at++) {
    const began = performance.now()
    await board.client.server.health()
    tookMs.push(performance.now() - began)
  }
  expect(tookMs.sort((a, b) => a - b)[98]).toBeLessThan(100 * slowdown())
  // These are the start of the run, its process and its pid; the jobs of the server can write in between.
  expect(writes.mock.calls.length).toBeLessThan(20)
  writes.mockRestore()
  await board.client.scripts.cancel(script.place)
  const { status, output } = await script.ended()
  expect([status, Buffer.byteLength(output)]).toEqual(['cancelled', keptBytes])
})

test('of a running script is written to disk after a while', async () => {
  const script = await newScript(board.client, projectId, 'echo first; sleep 60')
  await script.run()
  const stored = () =>
    board.server.app.db.get<{ output: string }>('SELECT output FROM script_runs WHERE script_id = ?', [
      Number(script.place.scriptId),
    ])
  await vi.waitFor(async () => expect((await stored())?.output).toBe('first\n'), {
    timeout: 10_000 * slowdown(),
    interval: 100,
  })
  expect(await script.status()).toMatchObject({ status: 'running', pid: expect.any(Number) })
  await board.client.scripts.cancel(script.place)
  await script.ended()
})

test('a tail keeps whole characters and counts the rest, at any cut', () => {
  const characters = ['a', 'é', '€', '😀', '\n']
  for (const maxBytes of [1, 2, 3, 4, 5, 7, 16]) {
    const tail = createTextTail(maxBytes)
    let whole = ''
    for (let at = 0; at < 200; at++) {
      const text = Array.from(
        { length: at % 7 },
        (_, index) => characters[(at * 3 + index * 2) % characters.length],
      ).join('')
      tail.add(text)
      whole += text
      if (at % 3 > 0) continue
      const { output, outputStart } = tail.read()
      expect(output).toBe(whole.slice(outputStart))
      expect(Buffer.byteLength(output)).toBeLessThanOrEqual(maxBytes)
      expect(output.isWellFormed()).toBe(true)
      if (Buffer.byteLength(whole) > maxBytes + 4) expect(Buffer.byteLength(output)).toBeGreaterThan(maxBytes - 4)
    }
  }
})
