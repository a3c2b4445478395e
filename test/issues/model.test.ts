import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDice } from '../e2e/dice.ts'
import type { Comment, Issue } from '../support/forge/model.ts'
import { startIssueBoard, type IssueBoard } from '../support/forge/issueBoard.ts'

/** BOARD_TEST_SEED repeats a random run, BOARD_TEST_ROUNDS=200 draws more steps. */
const seed = Number(process.env.BOARD_TEST_SEED ?? randomInt(2 ** 31))
const steps = Number(process.env.BOARD_TEST_ROUNDS ?? 60)
const dice = createDice(seed)
const pick = <T>(all: readonly T[]): T | undefined => all[dice.between(0, all.length - 1)]

let board: IssueBoard
beforeAll(async () => {
  board = await startIssueBoard({ comments: true })
})
afterAll(() => board.close())

/** Issues that a user on the forge closed last. */
const closedThere = new Set<number>()
let drawn = 0

const cardOf = async (issue: Issue) => {
  const card = await board.cardOf(issue.number)
  return { projectId: board.projectId, cardId: card.id }
}
const ofBoard = ({ author }: Comment) => author === 'board-bot'
const theirs = ({ number }: Issue) =>
  board.forge.state.comments.filter(each => each.number === number && !ofBoard(each))
const ours = async (issue: Issue) =>
  (await board.client.comments.list({ ...(await cardOf(issue)), limit: 100 })).items.filter(
    ({ author }) => author.kind === 'user',
  )

const actions: Array<(issue: Issue) => unknown> = [
  issue => {
    if (issue.state === 'open') closedThere.add(issue.number)
    board.forge.closeIssue(issue.number)
  },
  issue => {
    closedThere.delete(issue.number)
    board.forge.reopenIssue(issue.number)
  },
  issue => board.forge.comment(issue.number, `theirs ${drawn++}`),
  issue => {
    const comment = pick(theirs(issue))
    if (comment) board.forge.editComment(comment.id, `theirs ${drawn++}`)
  },
  issue => {
    const comment = pick(theirs(issue))
    if (comment) board.forge.state.deleteComment(comment, 'ann')
  },
  issue => board.forge.editIssue(issue.number, { body: `text ${drawn++}` }),
  async issue => board.client.cards.move({ ...(await cardOf(issue)), columnId: board.columns.done }),
  async issue => board.client.cards.move({ ...(await cardOf(issue)), columnId: board.columns.backlog }),
  async issue => board.client.comments.create({ ...(await cardOf(issue)), body: `ours ${drawn++}` }),
  async issue => {
    const comment = pick(await ours(issue))
    if (comment)
      await board.client.comments.update({ ...(await cardOf(issue)), commentId: comment.id, body: `ours ${drawn++}` })
  },
  async issue => {
    const comment = pick(await ours(issue))
    if (comment) await board.client.comments.delete({ ...(await cardOf(issue)), commentId: comment.id })
  },
  () => board.sync(),
  () => board.forge.fail({ match: pick([/POST/, /PATCH/, /GET/]), ...pick([{ loseAnswer: true }, { status: 502 }]) }),
]

/** Syncs until one sync has no work left. */
async function settle(): Promise<void> {
  board.forge.behave()
  for (let visits = 0; visits < 20; visits++) {
    const tally = await board.sync()
    if (Object.values(tally).every(count => count === 0)) return
  }
  throw new Error('It does not come to rest.')
}

/** The comments in no order: neither side stores which came first. */
const words = (bodies: readonly string[]) =>
  bodies
    .map(body => /(?:ours|theirs) \d+/.exec(body)?.[0])
    .filter(Boolean)
    .sort()

test(`both sides end equal and idle, for any actions in any order (BOARD_TEST_SEED=${seed})`, async () => {
  const issues = ['One', 'Two', 'Three'].map(title => board.forge.openIssue({ title, labels: ['board'] }))
  await board.sync()
  for (let step = 0; step < steps; step++)
    await Promise.resolve(pick(actions)!(pick(issues)!)).catch(({ code }: { code: string }) =>
      expect(code).toMatch(/^FORGE_/),
    )
  await settle()
  const [writes, cards] = [board.writes(), await board.cards()]
  expect(cards).toHaveLength(3)
  await settle()
  expect(board.writes()).toEqual(writes)
  expect(await board.cards()).toEqual(cards)
  for (const issue of issues) {
    const card = cards.find(each => each.issue!.number === issue.number)!
    expect(card.issue!.state).toBe(issue.state)
    if (card.columnId === board.columns.done) expect(issue.state).toBe('closed')
    else expect(issue.state === 'open' || closedThere.has(issue.number), 'an open card of a closed issue').toBe(true)
    expect(words(board.saidThere(issue.number))).toEqual(words(await board.said(card)))
  }
})
