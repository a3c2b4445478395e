import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { programPath } from '../../src/worktrees/worktreeProcess.ts'
import { configure, makeRepository } from '../support/agents/agentBoard.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { processIds, readProcessFile, statOf } from '../support/processes/processFiles.ts'

const sides = {
  off: { mode: 'off' },
  full: { mode: 'inherit', network: 'full' },
  listed: { mode: 'inherit', network: 'listed' },
} as const
type Side = keyof typeof sides
/** Maximum milliseconds that the sandbox adds to a session on an idle machine. */
const maxExtraMs = { full: 60, listed: 90 }
const maxKiB = 10 * 1024
/** Load on the machine only adds time: the best of enough rounds is the cost of a session. On an idle machine few rounds are enough. */
const rounds = { min: 8, max: 40 }
const pollMs = 25

const root = mkdtempSync(join(tmpdir(), 'board-sandbox-cost-'))
const dataDir = join(root, 'data')
const board = boardProcess(dataDir, { HOME: root }, ['--sandbox', 'auto'])

describe.runIf(hasBubblewrap)('a session in the sandbox', () => {
  const projects = {} as Record<Side, { projectId: string; columnId: string }>
  beforeAll(async () => {
    configure(dataDir, {}, 'none')
    await board.start()
    const path = makeRepository(join(root, 'repository'))
    for (const [side, sandbox] of Object.entries(sides)) {
      const { id: projectId } = await board.client.projects.create({ name: side, path })
      await board.client.projects.update({ id: projectId, sandbox })
      const columns = await board.client.columns.list({ projectId })
      const { id: columnId } = columns.find(({ columnType }) => columnType === 'active')!
      projects[side as Side] = { projectId, columnId }
    }
  })
  afterAll(() => clearAway(board, root))

  const start = (side: Side, command: string) =>
    board.client.cards.create({ ...projects[side], title: 'Shell', kind: 'terminal', command })
  const sessionMs = async (side: Side): Promise<number> => {
    const beganAt = Date.now()
    const { id: cardId } = await start(side, 'true')
    const { projectId } = projects[side]
    const session = await eventually('the end of a session', async () => {
      await delay(pollMs)
      const found = await board.client.agents.get({ projectId, cardId })
      return found.endedAt === null ? undefined : found
    })
    const kind = side === 'off' ? 'none' : 'bwrap'
    expect(session).toMatchObject({ status: 'completed', sandbox: { kind } })
    return Date.parse(session.endedAt!) - beganAt
  }

  test('takes little longer than a session without it', async () => {
    const took = { off: [] as number[], full: [] as number[], listed: [] as number[] }
    const best = (side: Side) => Math.min(...took[side])
    const isWithin = (share: number) =>
      (['full', 'listed'] as const).every(side => best(side) - best('off') < maxExtraMs[side] * share)
    const order = Object.keys(sides) as Side[]
    for (const side of order) await sessionMs(side)
    for (let round = 0; round < rounds.max && (round < rounds.min || !isWithin(0.5)); round++)
      for (const side of round % 2 === 0 ? order : order.toReversed()) took[side].push(await sessionMs(side))
    const figures = order.map(side => `${best(side)} ms (${side})`).join(', ')
    const busy = slowdown()
    expect(isWithin(busy), `the best of ${took.off.length}: ${figures}, on a machine ${busy} times as slow`).toBe(true)
  })

  test('uses little more memory than a session without it', async () => {
    const kiB: number[] = []
    for (const side of ['full', 'listed'] as const) {
      const { id: cardId } = await start(side, 'echo begun; exec sleep 600')
      const { projectId } = projects[side]
      await eventually('its first words', async () =>
        (await board.client.agents.messages({ projectId, cardId })).some(({ content }) => content.includes('begun')),
      )
      kiB.push(keepersOf(board.pid).reduce((sum, pid) => sum + sharedKiB(pid), 0))
      await board.client.agents.cancel({ projectId, cardId })
      await eventually('its end', () => keepersOf(board.pid).length === 0)
    }
    process.stdout.write(`a session's sandbox uses ${kiB[0]} KiB, and ${kiB[1]} with a separate network\n`)
    for (const each of kiB) expect(each).toBeGreaterThan(0)
    expect(Math.max(...kiB)).toBeLessThan(maxKiB)
  })
})

/** The bubblewrap processes of sessions. The processes of worktrees run longer, and do not count. */
function keepersOf(serverPid: number): number[] {
  const parents = new Map<number, number>()
  for (const pid of processIds())
    if (readProcessFile(pid, 'comm').trim() === 'bwrap' && !readProcessFile(pid, 'cmdline').includes(programPath))
      parents.set(pid, Number(statOf(pid)[1]))
  return [...parents]
    .filter(([, parent]) => parent === serverPid || parents.get(parent) === serverPid)
    .map(([pid]) => pid)
}

/** The memory of a process with its proportional share of shared pages. */
const sharedKiB = (pid: number): number =>
  Number(/^Pss:\s+(\d+) kB/m.exec(readProcessFile(pid, 'smaps_rollup'))?.[1] ?? 0)
