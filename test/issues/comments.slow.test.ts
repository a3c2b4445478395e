import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startIssueBoard, type Card, type IssueBoard } from '../support/forge/issueBoard.ts'

let board: IssueBoard
beforeAll(async () => {
  board = await startIssueBoard({ comments: true })
})
afterAll(() => board.close())

async function taken(title: string): Promise<Card> {
  const { number } = board.forge.openIssue({ title, labels: ['board'] })
  await board.sync()
  return board.cardOf(number)
}
const ref = ({ id: cardId }: Card) => ({ projectId: board.projectId, cardId })
const say = (card: Card, body: string) => board.client.comments.create({ ...ref(card), body })
/** Syncs twice: the second sync has no work left on either side. */
async function settle(): Promise<void> {
  await board.sync()
  const [writes, cards] = [board.writes(), await board.cards()]
  expect(await board.sync()).toMatchObject({ updated: 0, closed: 0, reopened: 0, received: 0, sent: 0, failed: 0 })
  expect(board.writes()).toEqual(writes)
  expect(await board.cards()).toEqual(cards)
}
const mine = 'board-bot: **Local operator**:\n\n'

describe('comments', () => {
  test('are synced in both directions, once, and without an echo', async () => {
    const card = await taken('Talk')
    const { number } = card.issue!
    board.forge.comment(number, 'Which door? @[Local operator](0)\u0007')
    await say(card, 'The red one, @[Ann](12).')
    board.forge.comment(number, 'Thanks', { author: 'bob' })
    await settle()
    expect(board.saidThere(number)).toEqual([
      'ann: Which door? @[Local operator](0)\u0007',
      'bob: Thanks',
      `${mine}The red one, @Ann.`,
    ])
    expect((await board.said(card)).sort()).toEqual([
      'Local operator: The red one, @[Ann](12).',
      'ann (GitHub): Which door? @[Local operator](0)',
      'bob (GitHub): Thanks',
    ])
    const { items } = await board.client.comments.list({ ...ref(card), limit: 100 })
    expect(items.map(({ author }) => author.kind).sort()).toEqual(['imported', 'imported', 'user'])
  })

  test('are edited and deleted where they were written, and the copy follows', async () => {
    const card = await taken('Edits')
    const { number } = card.issue!
    const [theirs, gone] = [board.forge.comment(number, 'teh'), board.forge.comment(number, 'Never mind')]
    const own = await say(card, 'mien')
    const dropped = await say(card, 'Drop it')
    await settle()
    board.forge.editComment(theirs.id, 'the')
    board.forge.state.deleteComment(gone, 'ann')
    await board.client.comments.update({ ...ref(card), commentId: own.id, body: 'mine' })
    await board.client.comments.delete({ ...ref(card), commentId: dropped.id })
    await settle()
    expect(board.saidThere(number)).toEqual(['ann: the', `${mine}mine`])
    expect((await board.said(card)).sort()).toEqual(['Local operator: mine', 'ann (GitHub): the'])
  })

  test('are not copied again if their copy is deleted, and the original stays', async () => {
    const card = await taken('Copies')
    const { number } = card.issue!
    board.forge.comment(number, 'Spam')
    await say(card, 'Ours')
    await settle()
    const [spam] = (await board.client.comments.list({ ...ref(card), limit: 100 })).items.filter(
      ({ author }) => author.kind === 'imported',
    )
    await board.client.comments.delete({ ...ref(card), commentId: spam!.id })
    const copy = board.forge.state.comments.find(each => each.number === number && each.author === 'board-bot')!
    board.forge.state.deleteComment(copy, 'ann')
    await settle()
    expect(board.saidThere(number)).toEqual(['ann: Spam'])
    expect(await board.said(card)).toEqual(['Local operator: Ours'])
  })

  test('of the account itself and with a copied mark are ordinary comments', async () => {
    const card = await taken('Marks')
    const { number } = card.issue!
    await say(card, 'Marked')
    await settle()
    const { body } = board.forge.state.comments.find(each => each.number === number)!
    board.forge.comment(number, body, { author: 'bob' })
    board.forge.comment(number, 'By hand', { author: 'board-bot' })
    await settle()
    expect((await board.said(card)).map(text => text.split('\n')[0]).sort()).toEqual([
      'Local operator: Marked',
      'board-bot (GitHub): By hand',
      'bob (GitHub): **Local operator**:',
    ])
    expect(board.saidThere(number)).toHaveLength(3)
  })

  test('state the reason for closing, which is not synced back', async () => {
    const card = await taken('Closed')
    await board.move(card, 'done')
    await settle()
    expect(board.saidThere(card.issue!.number)).toEqual(['board-bot: This is done.'])
    expect(await board.said(card)).toEqual([])
  })

  test('from before the setting was enabled are not synced', async () => {
    const { id: projectId } = await board.client.projects.get({ id: board.projectId })
    const switchTo = (issueComments: boolean) =>
      board.client.projects.update({ id: projectId, forge: { issueComments } })
    await switchTo(false)
    const card = await taken('Later')
    await say(card, 'Between us')
    await settle()
    await switchTo(true)
    await settle()
    await say(card, 'For all')
    await settle()
    expect(board.saidThere(card.issue!.number)).toEqual([`${mine}For all`])
  })
})
