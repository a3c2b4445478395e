import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { startMonitorBoard, untilGone, type ActiveCard, type Monitor, type MonitorBoard } from './monitorBoard.ts'

const secret = 'c2VjcmV0LW9mLXRoZS1zZXJ2ZXItMzItYnl0ZXMtISE='

let board: MonitorBoard
let card: ActiveCard
beforeAll(async () => {
  Object.assign(process.env, { BOARD_SECRET_KEY: secret, MY_PRIVATE_THING: 'private', npm_config_private: 'private' })
  board = await startMonitorBoard({ monitorTimeoutMs: 3000 })
  card = await board.newCard()
})
afterAll(async () => {
  for (const name of ['BOARD_SECRET_KEY', 'MY_PRIVATE_THING', 'npm_config_private']) delete process.env[name]
  await board.close()
})

const isOver = ({ lastFinishedAt }: Monitor) => lastFinishedAt !== null
/** A monitor of a new card after its first run. */
async function ran(command: string, fields?: object): Promise<Monitor> {
  card = await board.newCard()
  const { id } = await board.create(card, command, fields)
  return board.until(id, 'the end', isOver)
}
/** The number of lines that were written to a file. */
const lines = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [])

describe('a run', () => {
  it('that exits with 0 is ok', async () => {
    const before = Date.now()
    const monitor = await ran('echo well; echo said >&2; echo last')
    expect(monitor).toMatchObject({
      status: 'ok',
      exitCode: 0,
      error: null,
      output: 'well\nsaid\nlast\n',
      consecutiveFailures: 0,
    })
    expect(Date.parse(monitor.lastStartedAt!)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(monitor.lastFinishedAt!)).toBeGreaterThanOrEqual(Date.parse(monitor.lastStartedAt!))
    // The grid starts at the creation.
    expect(Math.abs(Date.parse(monitor.nextRunAt!) - Date.parse(monitor.createdAt) - 60_000)).toBeLessThan(1000)
  })

  it('that exits with another code is failing, with its exit code', async () => {
    expect(await ran('echo no; exit 3')).toMatchObject({
      status: 'failing',
      exitCode: 3,
      error: null,
      output: 'no\n',
      consecutiveFailures: 1,
    })
    expect(await ran('no-such-program')).toMatchObject({
      status: 'failing',
      exitCode: 127,
      output: expect.stringContaining('not found'),
    })
    expect(await ran('kill -SEGV $$')).toMatchObject({
      status: 'failing',
      exitCode: null,
      error: 'The command was ended by SIGSEGV.',
    })
    expect(await ran('echo "unfinished')).toMatchObject({
      status: 'failing',
      exitCode: 2,
      output: expect.stringMatching(/unterminated|EOF/i),
    })
  })

  it('that exceeds its timeout is ended with all its processes: timeout', async () => {
    const mark = `timeout-${card.cardId}-${Date.now()}`
    const monitor = await ran(
      `setsid sh -c 'trap "" TERM; while :; do sleep 0.1; done' ${mark} & echo begun; sh -c 'sleep 100; :' ${mark}`,
    )
    expect(monitor).toMatchObject({
      status: 'timeout',
      exitCode: null,
      error: 'The command ran longer than 3 seconds and was stopped.',
      output: 'begun\n',
      consecutiveFailures: 1,
    })
    await untilGone(mark)
  })

  it('leaves no process in the background, and does not wait for it', async () => {
    const mark = `background-${card.cardId}-${Date.now()}`
    const monitor = await ran(`(setsid sh -c 'sleep 100; :' ${mark} &); sh -c 'sleep 100; :' ${mark} & echo done`)
    expect(monitor).toMatchObject({ status: 'ok', output: 'done\n' })
    await untilGone(mark)
  })

  it('keeps the last 4 KiB of its output, as text', async () => {
    const many = await ran('i=0; while [ $i -lt 2000 ]; do echo "line $i"; i=$((i+1)); done')
    expect(Buffer.byteLength(many.output)).toBeLessThanOrEqual(4096)
    expect(Buffer.byteLength(many.output)).toBeGreaterThan(4000)
    expect(many.output).toMatch(/line 1998\nline 1999\n$/)
    const binary = await ran(`printf 'a\\000b\\377c\\303\\251'; head -c 10000 /dev/urandom`)
    expect(binary.status).toBe('ok')
    expect(Buffer.byteLength(binary.output)).toBeLessThanOrEqual(4096)
    expect((await ran(`printf 'a\\000b\\377c\\303\\251'`)).output).toBe('a\u2400b\uFFFDcé')
  })

  it('with endless output is ended by its timeout, and the server answers in that time', async () => {
    card = await board.newCard()
    const { id } = await board.create(card, 'yes')
    let slowestMs = 0
    await board.until(id, 'the end', monitor => {
      const before = performance.now()
      void board.client.server.health().then(() => {
        slowestMs = Math.max(slowestMs, performance.now() - before)
      })
      return isOver(monitor)
    })
    expect((await board.monitor(id)).status).toBe('timeout')
    expect(slowestMs).toBeLessThan(500 * slowdown())
  })

  it('gets its server, project and card in its environment, and no secret', async () => {
    const { output } = await ran('env; cat /proc/$$/environ | tr "\\0" "\\n"')
    const env = Object.fromEntries(output.split('\n').map(line => line.split(/=(.*)/s)))
    expect(env).toMatchObject({
      BOARD_URL: board.url,
      BOARD_PROJECT_ID: board.projectId,
      BOARD_CARD_ID: card.cardId,
      BOARD_RUN_ID: expect.stringMatching(/^[\da-f-]{36}$/),
      HOME: expect.any(String),
      PATH: expect.any(String),
    })
    expect(
      Object.keys(env)
        .filter(name => name.startsWith('BOARD_'))
        .sort(),
    ).toEqual(['BOARD_CARD_ID', 'BOARD_PROJECT_ID', 'BOARD_RUN_ID', 'BOARD_URL'])
    for (const hidden of [secret, 'private', board.token, card.token]) expect(output).not.toContain(hidden)
  })

  it('has its own process group and no stdin', async () => {
    expect((await ran('cat; ps -o pgid= -p $$ | tr -d " "; echo $$')).output).toMatch(/^(\d+)\n\1\n$/)
  })

  it('works in its folder', async () => {
    const folder = join(board.path, 'with space')
    mkdirSync(folder, { recursive: true })
    expect((await ran('pwd', { cwd: folder })).output).toBe(`${folder}\n`)
    expect((await ran('pwd')).output).toBe(`${board.path}\n`)
  })
})

describe('the folder is validated again before each run', () => {
  const at = (name: string) => {
    const folder = join(board.path, name)
    mkdirSync(folder, { recursive: true })
    return folder
  }

  it('so that a folder that became a link outside is not used: error', async () => {
    const cwd = at('swapped')
    const ledger = join(board.folder('ledgers'), 'swapped')
    const id = await board.insert(card, `pwd >> ${ledger}`, 1, { cwd })
    await board.until(id, 'a run', ({ status }) => status === 'ok')
    rmSync(cwd, { recursive: true })
    symlinkSync(tmpdir(), cwd)
    expect(await board.until(id, 'an error', ({ status }) => status === 'error')).toMatchObject({
      exitCode: null,
      error: "cwd must be inside the project, the card's worktree or its attached worktree.",
      output: '',
    })
    expect(new Set(lines(ledger))).toEqual(new Set([cwd]))
    await board.until(id, 'more errors', ({ consecutiveFailures }) => consecutiveFailures > 1)
    rmSync(cwd)
    mkdirSync(cwd)
    await board.until(
      id,
      'a run again',
      ({ status, consecutiveFailures }) => status === 'ok' && consecutiveFailures === 0,
    )
    await board.client.monitors.deleteProject({ projectId: board.projectId, monitorId: id })
  })

  it('and a missing one is reported', async () => {
    const cwd = at('gone')
    const id = await board.insert(card, 'true', 1, { cwd })
    await board.until(id, 'a run', ({ status }) => status === 'ok')
    rmSync(cwd, { recursive: true })
    writeFileSync(cwd, '')
    expect(await board.until(id, 'an error', ({ status }) => status === 'error')).toMatchObject({
      error: 'cwd must be the absolute path of an existing folder.',
    })
    await board.client.monitors.deleteProject({ projectId: board.projectId, monitorId: id })
  })
})

it('runs again on its grid, never concurrently, and makes up for no missed run', async () => {
  const ledger = join(board.folder('ledgers'), 'grid')
  // A run takes one and a half intervals: the next one is the first of the grid after its end.
  const id = await board.insert(
    card,
    `echo "begin $(date +%s%N)" >> ${ledger}; sleep 1.5; echo "end $(date +%s%N)" >> ${ledger}`,
    1,
  )
  await eventually('some runs', () => lines(ledger).length >= 8, 30_000)
  await board.client.monitors.deleteProject({ projectId: board.projectId, monitorId: id })
  const told = lines(ledger).map(line => line.split(' ') as [string, string])
  expect(told.slice(0, 8).map(([word]) => word)).toEqual([
    'begin',
    'end',
    'begin',
    'end',
    'begin',
    'end',
    'begin',
    'end',
  ])
  const begins = told.filter(([word]) => word === 'begin').map(([, at]) => Number(BigInt(at) / 1_000_000n))
  // A busy machine delays a start, and the next one is on time again: the gap is never less than the run and the rest of its interval, minus that delay.
  const gaps = begins.slice(1).map((at, index) => at - begins[index]!)
  expect(Math.min(...gaps)).toBeGreaterThan(1500)
  expect((begins.at(-1)! - begins[0]!) / gaps.length).toBeGreaterThan(1750)
})
