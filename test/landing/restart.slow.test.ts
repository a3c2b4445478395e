import { mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { configure, makeRepository } from '../support/agents/agentBoard.ts'
import { gitIn } from '../support/git/gitIn.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { eventually } from '../support/waiting/eventually.ts'

const root = mkdtempSync(join(tmpdir(), 'board-landing-'))
const dataDir = join(root, 'data')
const board = boardProcess(dataDir, { HOME: root })
afterAll(() => clearAway(board, root))

const cards = 4
/** The times after a start of the server at which it is killed: before, during and after the steps of a landing. */
const killedAfterMs = [50, 150, 250, 350, 450, 600, 750, 900, 1100, 1300]

test('a server that is killed at any time lands each card once, and leaves nothing behind', async () => {
  const path = join(root, 'repository')
  mkdirSync(dataDir)
  configure(
    dataDir,
    { worker: { command: ['sh', '-c', 'echo "$BOARD_CARD_ID" > work-$BOARD_CARD_ID'], protocol: 'command' } },
    'none',
  )
  makeRepository(path)
  await board.start()
  const { id: projectId } = await board.client.projects.create({ name: 'Landing', path })
  const active = (await board.client.columns.list({ projectId })).find(({ columnType }) => columnType === 'active')!
  const ids: string[] = []
  for (let at = 0; at < cards; at++) {
    const card = { projectId, title: `Work ${at}`, columnId: active.id, agent: 'worker', useWorktree: true }
    ids.push((await board.client.cards.create(card)).id)
  }
  for (const cardId of ids)
    await eventually('the end of the agent', async () => {
      return (await board.client.cards.get({ projectId, cardId })).status === 'completed'
    })
  await board.client.gates.create({ projectId, name: 'tests', command: 'sleep 0.2; ls work-*' })
  for (const cardId of ids) await board.client.landings.add({ projectId, cardId })
  for (const ms of killedAfterMs) {
    await delay(ms)
    await board.end('SIGKILL')
    await board.start()
  }
  for (const cardId of ids)
    await eventually(
      `the landing of card ${cardId}`,
      async () => (await board.client.cards.get({ projectId, cardId })).mergedAt !== null,
      60_000,
    )
  const { entries } = await board.client.landings.list({ projectId })
  expect(entries.map(({ status }) => status)).toEqual(ids.map(() => 'landed'))
  const merges = gitIn(path, 'log', '--first-parent', '--merges', '--format=%s').split('\n')
  expect(merges.toSorted()).toEqual(ids.map((_, at) => `Merge: Work ${at}`))
  expect(readdirSync(path).filter(name => name.startsWith('work-'))).toHaveLength(cards)
  expect(gitIn(path, 'status', '--porcelain')).toBe('')
  await eventually('the end of the folders', async () => {
    const folders = readdirSync(join(dataDir, 'worktrees', projectId)).filter(name => name.includes('landing'))
    return folders.length === 0 && !gitIn(path, 'branch', '--list', '*landing*').includes('landing')
  })
})
