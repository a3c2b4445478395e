import { randomInt, randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { createDice } from '../e2e/dice.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { isAlive, processesWith, readProcessFile } from '../support/processes/processFiles.ts'
import { deafGrandchild } from './scriptBoard.ts'

/** BOARD_TEST_ROUNDS=100 for the long run; BOARD_TEST_SEED repeats a random run. */
const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 2)
const seed = Number(process.env.BOARD_TEST_SEED ?? randomInt(2 ** 31))
const dice = createDice(seed)
const root = mkdtempSync(join(tmpdir(), 'board-script-soak-'))
const path = join(root, 'project')
mkdirSync(path)
const board = boardProcess(join(root, 'data'), { HOME: root })
afterAll(() => clearAway(board, root))

const commands = [
  `${deafGrandchild} sleep 600 # $TAG`,
  `${deafGrandchild} sleep 0.3; echo done # $TAG`,
  'echo quick # $TAG',
  `trap "" TERM; ${deafGrandchild} while :; do sleep 0.1; done # $TAG`,
]
const untimely = ['SCRIPT_ALREADY_RUNNING', 'SCRIPT_NOT_RUNNING', 'SCRIPT_NOT_FOUND']
interface Known {
  scriptId: string
  tag: string
}
let projectId: string
let scripts: Known[] = []

/** Whether two runs of one script overlap, by the marks of their processes. */
function doubles(): string[] {
  return scripts.flatMap(({ tag }) => {
    const runs = new Map(processesWith(tag).map(pid => [runOf(pid), pid]))
    runs.delete(undefined)
    return runs.size > 1 && [...runs.values()].every(isAlive) ? [`${tag}: ${[...runs].join(' ')}`] : []
  })
}
const runOf = (pid: number): string | undefined => /BOARD_RUN_ID=([\w-]+)/.exec(readProcessFile(pid, 'environ'))?.[1]

async function step(): Promise<string> {
  if (scripts.length < 6) {
    const tag = `board-soak-${randomUUID()}`
    const { id } = await board.client.scripts.create({
      projectId,
      name: tag,
      command: dice.pick(commands).replaceAll('$TAG', tag),
    })
    scripts.push({ scriptId: id, tag })
  }
  const known = dice.pick(scripts)
  const action = dice.pick(['run', 'run', 'run', 'cancel', 'delete'] as const)
  const answer = await board.client.scripts[action]({ projectId, scriptId: known.scriptId }).then(
    () => 'ok',
    (error: { code?: string }) => {
      if (untimely.includes(error.code ?? '')) return error.code
      throw error
    },
  )
  if (action === 'delete' && answer === 'ok') scripts = scripts.filter(each => each !== known)
  return `${action} ${known.scriptId} ${answer}`
}

test(
  `no process of a script is left, and none runs twice, in ${rounds} rounds of random runs, cancels, deletions and kills of the server (seed ${seed})`,
  async () => {
    await board.start()
    projectId = (await board.client.projects.create({ name: 'Soak', path })).id
    for (let round = 1; round <= rounds; round++) {
      const told: string[] = []
      try {
        for (let left = dice.between(5, 15); left > 0; left--) {
          told.push(await step())
          await delay(dice.between(0, 150))
          expect(doubles()).toEqual([])
        }
        const underWay = Promise.all(Array.from({ length: dice.between(0, 4) }, step))
        underWay.catch(() => {
          /* Its server can have ended. */
        })
        await delay(dice.pick([0, 5, 20, 200]))
        const signal = dice.pick(['SIGKILL', 'SIGKILL', 'SIGTERM'] as const)
        const { tookMs } = await board.end(signal)
        await underWay.catch(() => {
          /* Its server can have ended. */
        })
        told.push(`${signal} in ${Math.round(tookMs)} ms`)
        if (signal === 'SIGTERM') expect([tookMs < 15_000, processesWith('board-soak-')]).toEqual([true, []])
        await board.start()
        // Requests at the time of the kill might have succeeded or not.
        const present = new Set((await board.client.scripts.list({ projectId })).map(({ id }) => id))
        scripts = scripts.filter(({ scriptId }) => present.has(scriptId))
        expect((await board.client.scripts.status({ projectId })).filter(({ status }) => status === 'running')).toEqual(
          [],
        )
        await eventually('the end of every process', () => processesWith('board-soak-').length === 0, 5000)
      } catch (error) {
        throw new Error(`Round ${round} of seed ${seed} failed: ${told.join(', ')}`, { cause: error })
      }
    }
  },
  300_000 + rounds * 20_000,
)
