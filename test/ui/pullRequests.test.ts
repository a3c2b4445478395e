import { expect, test } from 'vitest'
import { landedAction } from '../../src/contract/cards/cardRecords.ts'
import { changeCard } from '../../src/domain/cards/cardChanges.ts'
import { find } from '../../src/domain/cards/cards.ts'
import * as pulls from '../../src/domain/forges/pullRequests.ts'
import { readPullRequest } from '../../src/store/forges/pullRequests.ts'
import { line, open, terminal, useEmptyBoard, world } from './emptyBoard.ts'

useEmptyBoard()
const db = () => world.server.server.app.db
const request = {
  number: 7,
  url: 'https://forge.example.org/acme/roof/pulls/7',
  title: 'Roof',
  state: 'open',
  draft: false,
  base: 'main',
  branch: 'board/1-roof',
  autoMerge: false,
  mergeMethod: 'merge',
} as const

test('a card shows the state of its pull request, on the board and opened', async () => {
  const id = await world.card('Roof')
  await db().transaction(tx => pulls.add(tx, { ...request, cardId: Number(id) }))
  await open()
  await terminal.shows('PR #7')
  expect(line(`#${id}`)).toMatch(/PR #7 ✓/)
  const row = (await readPullRequest(db(), Number(id)))!
  const checks = JSON.stringify([{ name: 'build', state: 'failure', url: null }])
  await db().transaction(tx => pulls.change(tx, row, { checks }))
  await terminal.shows('PR #7 ✗')
  terminal.press('enter')
  await terminal.shows('pull request #7 open, checks failed')
  await db().transaction(tx => pulls.change(tx, { ...row, checks }, { state: 'merged' }))
  await terminal.shows('pull request #7 merged')
  terminal.press('escape')
  await terminal.shows('PR #7 merged')
})

test('a card shows that its work is already in its base', async () => {
  const id = await world.card('Squashed')
  const detail = 'Its work is already in main.'
  await db().transaction(async tx =>
    changeCard(tx, await find(tx, { projectId: Number(world.projectId), cardId: Number(id) }), {
      lastAgentAction: JSON.stringify({ type: landedAction, at: tx.now, detail }),
    }),
  )
  await open()
  terminal.press('enter')
  await terminal.shows(detail)
})
