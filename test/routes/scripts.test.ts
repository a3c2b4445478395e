import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { newScript } from '../scripts/scriptBoard.ts'

let board: TestBoard
let projectId: string
beforeAll(async () => {
  board = await startBoard()
  projectId = (await board.client.projects.create({ name: 'Scripts', path: board.folder('scripts') })).id
})
afterAll(() => board.close())

const newProject = async (name: string) => (await board.client.projects.create({ name, path: board.folder(name) })).id
const fill = async (of: string, names: readonly string[]) => {
  const ids: string[] = []
  for (const name of names)
    ids.push((await board.client.scripts.create({ projectId: of, name, command: `echo ${name}` })).id)
  return ids
}
const names = async (of: string) =>
  (await board.client.scripts.list({ projectId: of })).map(({ name, position }) => `${position} ${name}`)
const failure = async (promise: Promise<unknown>) =>
  promise.then(
    () => 'nothing',
    (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
  )

describe("a project's scripts", () => {
  test('are listed in their order, which stays dense and can be changed', async () => {
    const of = await newProject('order')
    expect(await names(of)).toEqual([])
    const [a, b, c] = (await fill(of, ['a', 'b', 'c'])) as [string, string, string]
    expect(await board.client.scripts.list({ projectId: of })).toEqual(
      [a, b, c].map((id, position) => ({ id, name: 'abc'[position], command: `echo ${'abc'[position]}`, position })),
    )
    expect((await board.client.scripts.reorder({ projectId: of, ids: [c, a, b] })).map(({ name }) => name)).toEqual([
      'c',
      'a',
      'b',
    ])
    await board.client.scripts.delete({ projectId: of, scriptId: a })
    expect(await names(of)).toEqual(['0 c', '1 b'])
    await fill(of, ['d'])
    expect(await names(of)).toEqual(['0 c', '1 b', '2 d'])
  })

  test('accept an order only if it names all of them once', async () => {
    const of = await newProject('orders')
    const [a, b] = (await fill(of, ['a', 'b'])) as [string, string]
    for (const ids of [[a], [a, a], [a, b, b], [a, '999999']])
      expect(await failure(board.client.scripts.reorder({ projectId: of, ids }))).toMatch(/^INVALID_ORDER/)
    expect(await names(of)).toEqual(['0 a', '1 b'])
  })

  test('are changed only in the given fields', async () => {
    const [scriptId] = (await fill(projectId, ['before'])) as [string]
    expect(await board.client.scripts.update({ projectId, scriptId, name: 'after' })).toMatchObject({
      id: scriptId,
      name: 'after',
      command: 'echo before',
    })
    expect(await board.client.scripts.update({ projectId, scriptId, command: 'true' })).toMatchObject({
      name: 'after',
      command: 'true',
    })
    expect(await board.client.scripts.update({ projectId, scriptId })).toMatchObject({ name: 'after', command: 'true' })
  })

  test('are at most 100', async () => {
    const of = await newProject('many')
    await fill(
      of,
      Array.from({ length: 100 }, (_, at) => `s${at}`),
    )
    expect(await failure(fill(of, ['one more']))).toBe('CONFLICT: A project can have at most 100 scripts.')
  })

  test.each([
    ['no name', { command: 'true' }, 'name'],
    ['an empty name', { name: '', command: 'true' }, 'name'],
    ['a long name', { name: 'x'.repeat(201), command: 'true' }, 'name'],
    ['no command', { name: 'x' }, 'command'],
    ['an empty command', { name: 'x', command: '' }, 'command'],
    ['a long command', { name: 'x', command: 'x'.repeat(16_385) }, 'command'],
    ['NUL in the command', { name: 'x', command: 'echo \0' }, 'command'],
    ['a command that is not text', { name: 'x', command: ['true'] }, 'command'],
    ['an unknown field', { name: 'x', command: 'true', cwd: '/' }, 'cwd'],
  ])('are rejected with %s, by its name', async (_, body, path) => {
    const reply = await board.request('POST', `/api/projects/${projectId}/scripts`, { body })
    expect([reply.status, reply.body.error.code, reply.body.error.details[0].path]).toEqual([
      400,
      'VALIDATION_FAILED',
      path,
    ])
  })
})

describe('the status', () => {
  test('of a script that never ran is idle', async () => {
    const [scriptId] = (await fill(projectId, ['idle'])) as [string]
    expect(await board.client.scripts.status({ projectId, scriptId: Number(scriptId) })).toEqual([
      {
        scriptId,
        status: 'idle',
        pid: null,
        exitCode: null,
        error: null,
        startedAt: null,
        finishedAt: null,
        output: '',
        outputStart: 0,
      },
    ])
  })

  test('can be listed for all scripts in order, or for one', async () => {
    const of = await newProject('statuses')
    const ids = await fill(of, ['a', 'b'])
    await board.client.scripts.reorder({ projectId: of, ids: [...ids].reverse() })
    expect((await board.client.scripts.status({ projectId: of })).map(({ scriptId }) => scriptId)).toEqual(
      [...ids].reverse(),
    )
    expect(await failure(board.client.scripts.status({ projectId: of, scriptId: 999_999 }))).toMatch(
      /^SCRIPT_NOT_FOUND/,
    )
  })

  test('starts the output at the requested offset', async () => {
    const script = await newScript(board.client, projectId, 'printf "zero €uro 😀 end"')
    await script.run()
    const { output } = await script.ended()
    expect(output).toBe('zero €uro 😀 end')
    expect(await script.status(5)).toMatchObject({ output: '€uro 😀 end', outputStart: 5 })
    expect(await script.status(output.length)).toMatchObject({ output: '', outputStart: output.length })
    expect(await script.status(1_000_000)).toMatchObject({ output: '', outputStart: output.length })
    // In the middle of a character that takes two code units.
    expect(await script.status(11)).toMatchObject({ output: '😀 end', outputStart: 10 })
    for (const since of [-1, 'x', 1.5])
      expect(
        (await board.request('GET', `/api/projects/${projectId}/scripts/status?since=${since}`)).body.error.details[0]
          .path,
      ).toBe('since')
  })
})

describe('a run', () => {
  test('is reported by events with its result', async () => {
    const live = await follow(board.url, board.token, projectId)
    const script = await newScript(board.client, projectId, 'echo hello; echo trouble >&2; exit 3')
    const begun = await script.run()
    expect(begun).toMatchObject({
      scriptId: script.place.scriptId,
      status: 'running',
      exitCode: null,
      error: null,
      finishedAt: null,
      output: '',
    })
    const ended = await script.ended()
    expect(ended).toMatchObject({
      status: 'failed',
      pid: expect.any(Number),
      exitCode: 3,
      error: null,
      startedAt: begun.startedAt,
      output: 'hello\ntrouble\n',
      outputStart: 0,
    })
    expect((await live.message('script.started')).data).toEqual(begun)
    expect((await live.message('script.finished')).data).toEqual(ended)
    live.close()
  })

  test('that exits with 0 has succeeded, and the next one replaces it', async () => {
    const script = await newScript(board.client, projectId, 'cat counter 2>/dev/null; echo x >> counter')
    await script.run()
    expect(await script.ended()).toMatchObject({ status: 'succeeded', exitCode: 0, output: '' })
    await script.run()
    expect(await script.ended()).toMatchObject({ status: 'succeeded', exitCode: 0, output: 'x\n' })
  })

  test('is the only one of its script', async () => {
    const script = await newScript(board.client, projectId, 'sleep 60 # $TAG')
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => failure(script.run())))
    expect(outcomes.filter(outcome => outcome === 'nothing')).toHaveLength(1)
    expect(new Set(outcomes)).toEqual(new Set(['nothing', 'SCRIPT_ALREADY_RUNNING: The script is already running.']))
    await script.until('its process', () => script.processes().length > 0)
    await board.client.scripts.cancel(script.place)
    await script.ended()
  })

  test('can be cancelled once, and records who cancelled it', async () => {
    const script = await newScript(board.client, projectId, 'echo begun; sleep 60')
    expect(await failure(board.client.scripts.cancel(script.place))).toBe(
      'SCRIPT_NOT_RUNNING: The script is not running.',
    )
    await script.run()
    await script.until('its words', run => run.output === 'begun\n')
    expect(await board.client.scripts.cancel(script.place)).toMatchObject({
      status: 'running',
      error: 'Cancelled by Local operator.',
    })
    expect(await script.ended()).toMatchObject({
      status: 'cancelled',
      error: 'Cancelled by Local operator.',
      output: 'begun\n',
      exitCode: 143,
    })
    expect(await failure(board.client.scripts.cancel(script.place))).toMatch(/^SCRIPT_NOT_RUNNING/)
  })

  test('that is cancelled immediately never starts, or ends', async () => {
    const script = await newScript(board.client, projectId, 'sleep 60 # $TAG')
    await Promise.all([
      script.run(),
      board.client.scripts.cancel(script.place).catch(() => board.client.scripts.cancel(script.place)),
    ])
    expect(await script.ended()).toMatchObject({ status: 'cancelled' })
    expect(script.processes()).toEqual([])
  })

  test('continues unchanged when its script is edited', async () => {
    const script = await newScript(board.client, projectId, 'sleep 0.4; echo old')
    await script.run()
    await board.client.scripts.update({ ...script.place, command: 'echo new' })
    expect((await script.ended()).output).toBe('old\n')
    await script.run()
    expect((await script.ended()).output).toBe('new\n')
  })

  test("fails with a clear error if the project's folder is missing", async () => {
    const path = board.folder('gone')
    const { id } = await board.client.projects.create({ name: 'gone', path })
    const script = await newScript(board.client, id, 'echo never')
    rmSync(path, { recursive: true })
    await script.run()
    expect(await script.ended()).toMatchObject({
      status: 'failed',
      exitCode: null,
      pid: null,
      error: "The project's folder no longer exists.",
      output: '',
    })
  })

  test('that was ended by a signal reports it like a shell does', async () => {
    const script = await newScript(board.client, projectId, 'kill -9 $$')
    await script.run()
    expect(await script.ended()).toMatchObject({ status: 'failed', exitCode: 137, error: 'It was ended by SIGKILL.' })
  })

  test("can be started by an API key with the permission, and records the key's owner", async () => {
    const script = await newScript(board.client, projectId, 'sleep 60')
    const keyFor = async (permission: 'scripts.run' | 'scripts.read') =>
      board.as(
        (await board.client.keys.create({ name: permission, scope: 'project', projectId, permissions: [permission] }))
          .key,
      )
    const [runs, reads] = [await keyFor('scripts.run'), await keyFor('scripts.read')]
    expect(await failure(reads.scripts.run(script.place))).toMatch(/^INSUFFICIENT_PERMISSIONS/)
    expect(await runs.scripts.run(script.place)).toMatchObject({ status: 'running' })
    await runs.scripts.cancel(script.place)
    expect(await script.ended()).toMatchObject({ status: 'cancelled' })
  })
})
