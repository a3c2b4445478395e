import { describe, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { line, open, terminal, useEmptyBoard, world } from './emptyBoard.ts'

useEmptyBoard()

describe('finding', () => {
  test('/ shows only cards with the words, and escape clears it', async () => {
    for (const title of ['Fix the login', 'Write the docs', 'Fix the search'])
      await world.card(title, { labels: title.includes('docs') ? ['urgent'] : [] })
    await open()
    terminal.press('/', 'fix')
    await terminal.lacks('Write the docs')
    await terminal.shows('2/3')
    terminal.press(' sea')
    await terminal.lacks('Fix the login')
    terminal.press('enter')
    await terminal.shows('/fix sea')
    terminal.press('escape')
    await terminal.shows('Write the docs')
    terminal.press('/', 'urgent', 'enter')
    await terminal.lacks('Fix the login')
    terminal.press('/', 'ctrl+u', 'nothing like that')
    await terminal.shows('Nothing here matches.')
    terminal.press('escape')
    await terminal.shows('Write the docs')
  })

  test(': jumps to a card by its id and to a column by its name', async () => {
    for (let number = 1; number <= 30; number++) await world.card(`Card ${number}.`)
    const id = await world.card('The wanted one', { columnId: world.columns.done })
    await open()
    terminal.press(':', id, 'enter')
    await terminal.shows('▌ The wanted one')
    terminal.press(':', 'backl', 'enter')
    await terminal.shows('▌ Card 1.')
    terminal.press(':', '999999', 'enter')
    await terminal.shows('Card not found: 999999')
    terminal.press(':', 'bakclog', 'enter')
    await terminal.shows('Did you mean Backlog?')
  })

  test(': opens another board, and jumps to its cards', async () => {
    const {
      server: { client },
      projectId,
    } = world
    const board = await client.boards.create({ projectId, name: 'Second' })
    const [column] = await client.columns.list({ projectId, boardId: board.id })
    const there = await world.card('On the second board', { columnId: column!.id })
    const here = await world.card('On the first board')
    await open()
    terminal.press(':', 'sec')
    await terminal.shows('Second (board)')
    terminal.press('tab')
    await terminal.shows('▌ On the second board')
    await terminal.shows('web · Second')
    terminal.press(':', here, 'enter')
    await terminal.shows('▌ On the first board')
    terminal.press(':', '#' + there, 'enter')
    await terminal.shows('▌ On the second board')
    await client.cards.delete({ projectId, cardId: there })
    await terminal.lacks('On the second board')
    await client.boards.delete({ projectId, boardId: board.id })
    await terminal.shows('The board was deleted.')
    await terminal.shows('On the first board')
    await client.cards.archive({ projectId, cardId: here })
    await terminal.lacks('On the first board')
    terminal.press(':', here, 'enter')
    await terminal.shows(`Card ${here} is archived.`)
  })

  test('? shows the keys and filters them', async () => {
    await open()
    terminal.press('?')
    await terminal.shows('Keys')
    terminal.press('undo')
    await terminal.lacks('go to the first card')
    await terminal.shows('undo the last move or archiving')
    terminal.press('escape')
    await terminal.lacks('undo the last move or archiving')
  })
})

describe('live', () => {
  test('changes of others appear automatically', async () => {
    const first = await world.card('First')
    await open()
    await world.card('Second')
    await terminal.shows('Second')
    await world.server.client.cards.update({
      projectId: world.projectId,
      cardId: first,
      title: 'First, renamed',
      labels: ['new'],
    })
    await terminal.shows('First, renamed')
    await world.server.client.cards.move({ projectId: world.projectId, cardId: first, columnId: world.columns.done })
    await eventually('the move on the screen', () => line('First, renamed').indexOf('First') > 60)
    await world.server.client.cards.delete({ projectId: world.projectId, cardId: first })
    await terminal.lacks('First, renamed')
    terminal.press('v')
    await terminal.shows('1 selected')
    for (const { id: cardId } of await world.server.client.cards.list({ projectId: world.projectId }))
      await world.server.client.cards.archive({ projectId: world.projectId, cardId })
    await terminal.lacks('selected')
    const column = await world.server.client.columns.create({
      projectId: world.projectId,
      boardId: (await world.server.client.boards.list({ projectId: world.projectId }))[0]!.id,
      name: 'Brand new',
      columnType: 'done',
    })
    await terminal.shows('Brand new')
    await world.server.client.columns.delete({ projectId: world.projectId, columnId: column.id })
    await terminal.lacks('Brand new')
  })
})
