import { describe, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { open, terminal, useEmptyBoard, world } from './emptyBoard.ts'

useEmptyBoard()

const inColumn = async (column: keyof typeof world.columns) => String(await world.titles(world.columns[column]))

describe('moves that start agents', () => {
  test('into an active column asks for several cards with their number, and not for one', async () => {
    for (const title of ['One', 'Two', 'Three']) await world.card(title)
    await open()
    terminal.press('V', 'L')
    await terminal.shows('This starts 3 agents. Move 3 cards to In Progress?')
    expect(await inColumn('backlog')).toBe('One,Two,Three')
    terminal.press('n')
    await terminal.lacks('This starts')
    expect(await inColumn('active')).toBe('')
    await terminal.shows('3 selected')
    terminal.press('L', 'y')
    await eventually('the move', async () => (await inColumn('active')) === 'One,Two,Three')
    await world.card('Four')
    await terminal.shows('Four')
    terminal.press('h', 'L')
    await eventually('the move', async () => (await inColumn('active')) === 'Four,One,Two,Three')
  })

  test('into a column without agents does not ask', async () => {
    for (const title of ['One', 'Two']) await world.card(title, { columnId: world.columns.active })
    await open()
    terminal.press('l', 'V', 'L')
    await eventually('the move', async () => (await inColumn('done')) === 'One,Two')
  })

  test('by an undo and a redo ask with the number', async () => {
    for (const title of ['One', 'Two']) await world.card(title, { columnId: world.columns.active })
    await open()
    terminal.press('l', 'V', 'L')
    await eventually('the move', async () => (await inColumn('done')) === 'One,Two')
    terminal.press('u')
    await terminal.shows('This starts 2 agents. Undo 2 cards to Done?')
    expect(await inColumn('done')).toBe('One,Two')
    terminal.press('escape')
    await terminal.lacks('This starts')
    terminal.press('u', 'y')
    await eventually('the undo', async () => (await inColumn('active')) === 'One,Two')
    terminal.press('H')
    await eventually('the move', async () => (await inColumn('backlog')).length > 0)
    terminal.press('u')
    await terminal.shows('This starts an agent. Undo')
    terminal.press('y')
    await eventually('the undo', async () => (await inColumn('active')) === 'One,Two')
  })

  test('by an undo before the server has responded to the move ask also', async () => {
    await world.card('Fast', { columnId: world.columns.active })
    await open()
    terminal.process.write('lHu')
    await terminal.shows('This starts an agent. Undo')
    terminal.press('n')
    await eventually('the move', async () => (await inColumn('backlog')) === 'Fast')
  })
})

describe('a confirmation', () => {
  test('enter does not answer a question with y: it stays open, and nothing is deleted, moved or merged', async () => {
    for (const title of ['One', 'Two']) await world.card(title)
    await open()
    for (const [keys, question] of [
      ['VD', 'Delete 2 cards?'],
      ['L', 'Move 2 cards to In Progress?'],
      ['M', 'Merge the branches of 2 cards'],
    ] as const) {
      terminal.process.write(keys)
      await terminal.shows(question)
      await terminal.shows(/ y yes, .*n no /)
      // If enter answered the question, n would open the form of a new card.
      terminal.process.write('\r\rn')
      await terminal.lacks(question)
      expect(terminal.text()).not.toContain('New card in')
    }
    expect(await inColumn('backlog')).toBe('One,Two')
  })
})

describe('a selection over several columns', () => {
  test('keeps the cards that are already in the target column', async () => {
    await world.card('One')
    await world.card('Stays', { columnId: world.columns.active })
    await open()
    terminal.press('v', 'l', 'v', 'h')
    await terminal.shows('2 selected')
    terminal.press('L')
    await eventually('the move', async () => (await inColumn('active')) === 'One,Stays')
    await terminal.shows('1 selected')
    terminal.press('D')
    await terminal.shows(/Delete card \d+, Stays\?/)
  })

  test('keeps the cards whose move the server rejects', async () => {
    const { client } = world.server
    for (const title of ['One', 'Two']) await world.card(title)
    const place = { projectId: world.projectId, columnId: world.columns.active }
    await client.columns.update({ ...place, wipLimit: 1 })
    try {
      await open()
      terminal.press('V', 'L', 'y')
      await terminal.shows('Put it there anyway?')
      terminal.press('n')
      await terminal.shows('1 selected')
      expect(await inColumn('active')).toBe('One')
      terminal.press('D')
      await terminal.shows(/Delete card \d+, Two\?/)
    } finally {
      await client.columns.update({ ...place, wipLimit: null })
    }
  })
})

describe('undo and redo', () => {
  test('u undoes step by step, U redoes, and a new change clears the redo steps', async () => {
    for (const title of ['One', 'Two', 'Three']) await world.card(title)
    await open()
    terminal.press('J')
    await eventually('the move', async () => (await inColumn('backlog')) === 'Two,One,Three')
    terminal.press('J')
    await eventually('the move', async () => (await inColumn('backlog')) === 'Two,Three,One')
    terminal.press('A')
    await eventually('the archiving', async () => (await inColumn('backlog')) === 'Two,Three')
    terminal.press('u', 'u', 'u')
    await eventually('the first order', async () => (await inColumn('backlog')) === 'One,Two,Three')
    await terminal.shows('▌ One')
    terminal.press('U', 'U')
    await eventually('the last order', async () => (await inColumn('backlog')) === 'Two,Three,One')
    terminal.press('K')
    await eventually('the move', async () => (await inColumn('backlog')) === 'Two,One,Three')
    terminal.press('U')
    await terminal.shows('There is nothing to redo.')
  })

  test('D asks, deletes, and u restores the card at its position', async () => {
    for (const title of ['One', 'Two', 'Three']) await world.card(title)
    await open()
    terminal.press('j', 'D')
    await terminal.shows(/Delete card \d+, Two\?/)
    terminal.press('n')
    await terminal.lacks('Delete card')
    terminal.press('D', 'y')
    await eventually('the deletion', async () => (await inColumn('backlog')) === 'One,Three')
    await terminal.lacks('Two')
    terminal.press('u')
    await eventually('the undo', async () => (await inColumn('backlog')) === 'One,Two,Three')
    await terminal.shows('▌ Two')
    terminal.press('V', 'D')
    await terminal.shows('Delete 3 cards?')
    terminal.press('y')
    await eventually('the deletion', async () => (await inColumn('backlog')) === '')
    terminal.press('u')
    await eventually('the undo', async () => (await inColumn('backlog')) === 'One,Two,Three')
  })
})
