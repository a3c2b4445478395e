import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { insertUsage } from '../../src/store/agents/usage.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let cli: CommandLine
let projectId: string
let cardId: string
beforeAll(async () => void (board = await startBoard({ clock: () => new Date('2026-03-31T12:00:00.000Z') })))
afterAll(() => board.close())
beforeEach(async () => {
  projectId = (await board.client.projects.create({ name: `shop ${Math.random()}`, path: board.folder('p') })).id
  cardId = (await board.client.cards.create({ projectId, title: 'Pay' })).id
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: projectId })
  await board.server.app.db.transaction(tx =>
    insertUsage(tx, {
      day: '2026-03-31',
      sessionId: 1,
      cardId: Number(cardId),
      projectId: Number(projectId),
      agent: 'claude',
      model: '=evil',
      runs: 2,
      costUnknown: 1,
      costUsd: 4.5,
      estimatedUsd: 1.25,
      inputTokens: 1000,
      outputTokens: 50,
      runningMs: 5_400_000,
    }),
  )
  return () => cli.close()
})

test('a budget is set, changed, listed and deleted', async () => {
  const made = await cli.json(['budgets', 'set', 'project', '--limit', '$5'])
  expect(made).toMatchObject({
    scope: 'project',
    scopeId: projectId,
    unit: 'usd',
    limit: 5,
    period: 'month',
    spent: 4.5,
  })
  expect(made).toMatchObject({ state: 'warned', unknownRuns: 1, resetsAt: '2026-04-01T00:00:00.000Z' })
  expect(await cli.json(['budgets', 'set', 'project', '--limit', '9'])).toMatchObject({ id: made.id, limit: 9 })
  const tokens = ['budgets', 'set', `card:${cardId}`, '--limit', '1k', '--unit', 'tokens', '--period', 'total']
  const used = await cli.board(tokens)
  expect(used.stderr).toContain('The budget is already used up')
  const lines = (await cli.ok(['budgets', 'list', '-P', projectId])).split('\n').slice(0, -1)
  expect(lines.map(line => line.split('\t').slice(1))).toEqual([
    [
      `project ${projectId}`,
      expect.stringContaining('shop'),
      '4.50',
      '9.00',
      'usd',
      'month',
      'ok',
      '1',
      '2026-04-01T00:00:00.000Z',
    ],
    [`card ${cardId}`, 'Pay', '1050', '1000', 'tokens', 'total', 'exhausted', '0', ''],
  ])
  expect(await cli.json(['budgets', 'list', '--card', cardId])).toHaveLength(1)
  await cli.ok(['budgets', 'delete', String(made.id), '--yes'])
  expect(await cli.ok(['budgets', 'list', '-P', projectId, '-q'])).not.toContain(String(made.id))
})

test('invalid input is reported: the scope, the amount, a name, an unknown budget', async () => {
  const says = async (words: string[]) => {
    const { code, stderr } = await cli.board(words)
    return [code, stderr.split('\n')[0]]
  }
  expect(await says(['budgets', 'set', 'planet', '--limit', '5'])).toEqual([2, 'board: "planet" is not a budget scope'])
  expect(await says(['budgets', 'set', 'project', '--limit', 'much'])).toEqual([
    2,
    expect.stringContaining('must be an amount above 0'),
  ])
  expect(await says(['budgets', 'set', 'project', '--limit', '1.5', '--unit', 'runs'])).toEqual([
    2,
    'board: --limit must be a whole number of tokens or runs',
  ])
  expect(await says(['budgets', 'set', 'project:nowhere', '--limit', '5'])).toEqual([
    3,
    'board: there is no project "nowhere"',
  ])
  expect(await says(['budgets', 'delete', '999999', '--yes'])).toEqual([3, 'board: there is no budget "999999"'])
  expect(await says(['budgets', 'set', 'project'])).toEqual([2, expect.stringContaining('--limit')])
  expect(await says(['usage', '--by', 'planet'])).toEqual([2, expect.stringContaining('card, project, agent')])
})

test('usage is shown by group, for a period, as JSON and as CSV', async () => {
  const usage = (...words: string[]) => cli.ok(['usage', '-P', projectId, ...words])
  expect(await usage()).toBe(`${cardId}\tPay\t2\t1\t1000\t50\t4.50\t1.25\t1.50\n`)
  expect(await usage('--by', 'day')).toMatch(/^2026-03-31\t2\t/)
  expect(await usage('--by', 'person')).toMatch(/^\tunknown\t2\t/)
  expect(await usage('--since', '2026-04-01')).toBe('')
  expect(await cli.json(['usage', '-P', projectId, '--by', 'model'])).toMatchObject([{ key: '=evil', costUsd: 4.5 }])
  expect(await usage('--by', 'model', '--csv')).toBe(
    `key,name,runs,unknownRuns,inputTokens,outputTokens,costUsd,estimatedUsd,hours\r\n'=evil,'=evil,2,1,1000,50,4.5,1.25,1.5\r\n`,
  )
})
