import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { line, open, terminal, useEmptyBoard, world } from './emptyBoard.ts'

useEmptyBoard()

describe('moving about', () => {
  test('hjkl and arrows move between cards and columns, gg and G to the ends', async () => {
    for (const title of ['One', 'Two', 'Three']) await world.card(title)
    await world.card('Elsewhere', { columnId: world.columns.done })
    await open()
    expect(line('One')).toContain('▌ One')
    terminal.press('j')
    await terminal.shows('▌ Two')
    terminal.press('down')
    await terminal.shows('▌ Three')
    terminal.press('k', 'up')
    await terminal.shows('▌ One')
    terminal.press('G')
    await terminal.shows('▌ Three')
    terminal.press('g', 'g')
    await terminal.shows('▌ One')
    terminal.press('l', 'right')
    await terminal.shows('▌ Elsewhere')
    terminal.press('left', 'h')
    await terminal.shows('▌ One')
  })

  test('keys that arrive in one chunk all count', async () => {
    for (let number = 1; number <= 9; number++) await world.card(`Card ${number}`)
    await open()
    terminal.process.write('jjjjj\u001b[Bk')
    await terminal.shows('▌ Card 6')
  })

  test('a long column shows the position, and the window follows', async () => {
    for (let number = 1; number <= 40; number++) await world.card(`Card ${number}.`)
    await open()
    await terminal.shows('1 of 40')
    expect(terminal.text()).not.toContain('Card 40.')
    terminal.press('G')
    await terminal.shows('▌ Card 40.')
    await terminal.shows('40 of 40')
    terminal.press('ctrl+u')
    await terminal.lacks('Card 40.')
    terminal.press('g', 'g')
    await terminal.shows('▌ Card 1.')
  })
})

describe('sizes', () => {
  test('under 80 columns one column is shown below the names of all', async () => {
    await world.card('Only this')
    await world.card('Over there', { columnId: world.columns.active })
    await open({ width: 60, height: 20 })
    await terminal.shows(/Backlog 1 +In Progress 1 +Done 0/)
    await terminal.shows(/▌#\d+ Only this/)
    expect(terminal.text()).not.toContain('Over there')
    terminal.press('l')
    await terminal.shows(/▌#\d+ Over there/)
    expect(terminal.lines().every(each => each.length <= 60)).toBe(true)
  })

  test('a large terminal is filled', async () => {
    for (let number = 1; number <= 30; number++) await world.card(`Card ${number}.`)
    await open({ width: 240, height: 70 })
    const lines = terminal.lines()
    expect(lines[1]).toHaveLength(240)
    expect(lines[68]).toHaveLength(240)
    expect(lines[1]!.split('╭')).toHaveLength(4)
    expect(terminal.text()).toContain('Card 20.')
  })

  test('a terminal that changes its size is redrawn', async () => {
    await world.card('A card that stays')
    await open({ width: 100, height: 30 })
    terminal.resize(140, 40)
    await terminal.shows(/^.*\n╭─ Backlog.{120,}╮\n/)
    expect(terminal.lines()[38]).toMatch(/^╰.*╯$/)
    terminal.resize(60, 20)
    await terminal.shows(/Backlog 1 +In Progress 0/)
    terminal.resize(20, 5)
    await terminal.shows('A card')
    terminal.resize(100, 30)
    await terminal.shows(/╭─ Backlog .*╮╭─ In Progress .*╮╭─ Done .*╮/)
  })

  test('columns outside the screen scroll into view', async () => {
    const { server, projectId } = world
    const board = await server.client.boards.create({ projectId, name: 'Wide' })
    for (let number = 1; number <= 6; number++)
      await server.client.columns.create({
        projectId,
        boardId: board.id,
        name: `Extra ${number}`,
        columnType: 'backlog',
      })
    await open({ args: ['--board', 'wide'] })
    await terminal.shows('columns 1-4 of 9 ›')
    expect(terminal.text()).not.toContain('Extra 6')
    terminal.press('l', 'l', 'l', 'l', 'l', 'l', 'l', 'l')
    await terminal.shows('─ Extra 6')
    await terminal.shows('‹ columns 6-9 of 9')
    await server.client.boards.delete({ projectId, boardId: board.id })
  })
})

describe('changing the board', () => {
  test('L and H move the card, J and K within the column, and u undoes it', async () => {
    for (const title of ['One', 'Two', 'Three']) await world.card(title)
    await open()
    terminal.press('j', 'J')
    await eventually('the new order', async () => String(await world.titles(world.columns.backlog)) === 'One,Three,Two')
    terminal.press('K', 'K')
    await eventually('the new order', async () => String(await world.titles(world.columns.backlog)) === 'Two,One,Three')
    terminal.press('L', 'L')
    await eventually('the move', async () => String(await world.titles(world.columns.done)) === 'Two')
    await eventually('the card under the cursor in the last column', () => line('▌ Two').indexOf('▌ Two') > 60)
    terminal.press('H')
    await eventually('the move', async () => String(await world.titles(world.columns.active)) === 'Two')
    terminal.press('u')
    await eventually('the undo', async () => String(await world.titles(world.columns.done)) === 'Two')
    terminal.press('u')
    await terminal.shows('This starts an agent. Undo')
    terminal.press('y', 'u')
    await eventually('the undo', async () => String(await world.titles(world.columns.backlog)) === 'Two,One,Three')
    terminal.press('u', 'u', 'u', 'u')
    await terminal.shows('nothing to undo')
    await eventually(
      'the first order',
      async () => String(await world.titles(world.columns.backlog)) === 'One,Two,Three',
    )
  })

  test('selected cards move together in order, and back together', async () => {
    for (const title of ['One', 'Two', 'Three', 'Four']) await world.card(title)
    await open()
    terminal.press('v', 'j', 'v')
    await terminal.shows('2 selected')
    terminal.press('L')
    await terminal.shows('This starts 2 agents.')
    terminal.press('y')
    await eventually('the move', async () => String(await world.titles(world.columns.active)) === 'One,Three')
    await terminal.lacks('selected')
    terminal.press('u')
    await eventually('the undo', async () => String(await world.titles(world.columns.backlog)) === 'One,Two,Three,Four')
  })

  test('A archives the selection, and u restores it at its position', async () => {
    for (const title of ['One', 'Two', 'Three']) await world.card(title)
    await open()
    terminal.press('V')
    await terminal.shows('3 selected')
    terminal.press('escape')
    await terminal.lacks('3 selected')
    terminal.press('j', 'A')
    await terminal.shows(/Archived card \d+\./)
    await eventually('the archiving', async () => String(await world.titles(world.columns.backlog)) === 'One,Three')
    terminal.press('u')
    await eventually('the undo', async () => String(await world.titles(world.columns.backlog)) === 'One,Two,Three')
    await terminal.shows('▌ Two')
  })

  test('n adds a card with a title and an optional prompt', async () => {
    await open()
    terminal.press('n')
    await terminal.shows('New card in Backlog')
    terminal.press('Grüße an 世界', 'enter')
    await terminal.shows('ctrl+e')
    terminal.press('Say hello.', 'enter')
    await terminal.shows('▌ Grüße an 世界')
    const [card] = await world.server.client.cards.list({
      projectId: world.projectId,
      columnId: world.columns.backlog,
      offset: 0,
    })
    expect(await world.server.client.cards.get({ projectId: world.projectId, cardId: card!.id })).toMatchObject({
      title: 'Grüße an 世界',
      prompt: 'Say hello.',
      deferred: true,
    })
    terminal.press('n', 'Never', 'escape')
    await terminal.lacks('New card in')
    expect(await world.titles(world.columns.backlog)).toEqual(['Grüße an 世界'])
  })

  test("the editor writes a new card's prompt and edits a card, and the board returns afterwards", async () => {
    const editor = join(world.cli.home, 'editor.mjs')
    writeFileSync(
      editor,
      'import { readFileSync, writeFileSync } from "node:fs"\nconst [file] = process.argv.slice(2)\nconsole.log("THE EDITOR")\nwriteFileSync(file, readFileSync(file, "utf8").replace("Plain", "Edited") + "more\\n")\n',
    )
    await open({ env: { EDITOR: `${process.execPath} ${editor}` } })
    terminal.press('n', 'Plain title', 'ctrl+e')
    await terminal.shows('▌ Edited title')
    expect(terminal.written).toContain('THE EDITOR')
    expect(terminal.isAlternate).toBe(true)
    const { id } = (
      await world.server.client.cards.list({ projectId: world.projectId, columnId: world.columns.backlog, offset: 0 })
    )[0]!
    expect(await world.server.client.cards.getFlat({ id })).toMatchObject({ title: 'Edited title', prompt: 'more\n' })
    terminal.press('e')
    await terminal.shows(`Card ${id} was changed.`)
    expect(await world.server.client.cards.getFlat({ id })).toMatchObject({ prompt: 'more\nmore\n' })
    terminal.press('n')
    await terminal.shows('New card in Backlog')
  })

  test('an editor that fails changes nothing and shows an error', async () => {
    await world.card('Untouched')
    await open({ env: { EDITOR: 'false' } })
    terminal.press('e')
    await terminal.shows('The editor ended with 1; nothing was changed')
    expect(terminal.isAlternate).toBe(true)
    terminal.press('n', 'Not made', 'ctrl+e')
    await terminal.lacks('New card in')
    await terminal.shows('The editor ended with 1')
    expect(await world.titles(world.columns.backlog)).toEqual(['Untouched'])
  })

  test('pasted text is typed, and triggers no keys', async () => {
    await open()
    terminal.process.write('n\u001b[200~From the clipboard\nq\u001b[31m\u001b[201~')
    await terminal.shows('Title:  From the clipboard q␛[31m')
    terminal.press('escape')
    await terminal.lacks('Title:')
    terminal.process.write('\u001b[200~qqq\u001b[201~')
    await world.card('Still here')
    await terminal.shows('Still here')
  })

  test('keys without an effect show a message', async () => {
    const id = await world.card('At rest')
    await open()
    terminal.press('x')
    await terminal.shows(`No agent is running on card ${id}.`)
    terminal.press('a')
    await terminal.shows('is not waiting for approval')
  })
})
