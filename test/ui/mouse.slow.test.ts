import { describe, expect, test } from 'vitest'
import { createDecoder } from '../../cli/ui/terminal/keys.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { line, open, terminal, useEmptyBoard, world } from './emptyBoard.ts'

useEmptyBoard()

/** The start of a text, in cells that count from 1 like those of terminals. */
const placeOf = (text: string) => {
  const y = terminal.lines().findIndex(each => each.includes(text))
  return { x: terminal.lines()[y]!.indexOf(text) + 1, y: y + 1 }
}
const send = (code: number, { x, y }: { x: number; y: number }, final = 'M') =>
  terminal.process.write(`\u001b[<${code};${x};${y}${final}`)
const click = (text: string, code = 0) => {
  send(code, placeOf(text))
  send(code, placeOf(text), 'm')
}
const drag = (from: string, to: { x: number; y: number }) => {
  send(0, placeOf(from))
  send(32, { x: to.x - 1, y: to.y })
  send(32, to)
}
const inColumn = async (column: keyof typeof world.columns) => String(await world.titles(world.columns[column]))

describe('the mouse', () => {
  test('a click moves the cursor to a card, another one opens it, and tabs can be clicked', async () => {
    await world.card('One')
    await world.card('Two', { columnId: world.columns.done, prompt: 'The prompt of Two.' })
    await open()
    click('Two')
    await terminal.shows('▌ Two')
    click('Two')
    await terminal.shows('The prompt of Two.')
    click('Transcript')
    await terminal.shows('[Transcript]')
  })

  test('a click with ctrl selects, and a drag moves all selected cards', async () => {
    for (const title of ['One', 'Two', 'Three']) await world.card(title)
    await open()
    click('One', 16)
    click('Three', 16)
    await terminal.shows('2 selected')
    drag('Three', { x: 80, y: 12 })
    await terminal.shows('Release to move 2 cards to Done.')
    send(0, { x: 80, y: 12 }, 'm')
    await eventually('the move', async () => (await inColumn('done')) === 'One,Three')
  })

  test('a drag moves a card to another column at the position under the mouse, and within its own', async () => {
    for (const title of ['One', 'Two', 'Three']) await world.card(title)
    for (const title of ['Four', 'Five']) await world.card(title, { columnId: world.columns.done })
    await open()
    drag('Two', placeOf('Five'))
    await terminal.shows(/› Five/)
    send(0, placeOf('Five'), 'm')
    await eventually('the move', async () => (await inColumn('done')) === 'Four,Two,Five')
    await terminal.shows('▌ Two')
    drag('One', placeOf('Three'))
    send(0, placeOf('Three'), 'm')
    await eventually('the move', async () => (await inColumn('backlog')) === 'Three,One')
    await eventually('the order on the screen', () => placeOf('Three').y < placeOf('One').y)
    drag('One', placeOf('Three'))
    send(0, placeOf('Three'), 'm')
    await eventually('the move', async () => (await inColumn('backlog')) === 'One,Three')
  })

  test('several cards that are dragged within their column are adjacent afterwards', async () => {
    for (const title of ['One', 'Two', 'Three', 'Four', 'Five']) await world.card(title)
    await open()
    click('One', 16)
    click('Three', 16)
    await terminal.shows('2 selected')
    drag('One', placeOf('Four'))
    send(0, placeOf('Four'), 'm')
    await eventually('the order', async () => (await inColumn('backlog')) === 'Two,Four,One,Three,Five')
    terminal.press('u')
    await eventually('the undo', async () => (await inColumn('backlog')) === 'One,Two,Three,Four,Five')
  })

  test('the wheel scrolls the column under it, and lists', async () => {
    for (let number = 1; number <= 40; number++) await world.card(`Card ${number}.`)
    await world.card('Alone', { columnId: world.columns.done })
    await open()
    click('Alone')
    await terminal.shows('▌ Alone')
    for (let turn = 0; turn < 40; turn++) send(65, { x: 5, y: 10 })
    await terminal.shows('Card 40.')
    await terminal.shows('▌ Alone')
    for (let turn = 0; turn < 40; turn++) send(64, { x: 5, y: 10 })
    await terminal.shows('Card 1.')
    terminal.press('?')
    await terminal.shows('go to the column on the left')
    for (let turn = 0; turn < 20; turn++) send(65, { x: 50, y: 10 })
    await terminal.lacks('go to the column on the left')
  })

  test('an item of a list can be clicked, and a click outside the list closes it', async () => {
    await world.card('One')
    await open()
    terminal.press('c')
    await terminal.shows(/Send card \d+ to/)
    click('Done                 ')
    await eventually('the move', async () => (await inColumn('done')) === 'One')
    terminal.press('c')
    await terminal.shows(/Send card \d+ to/)
    send(0, { x: 2, y: 28 })
    await terminal.lacks(/Send card \d+ to/)
  })

  test('it is enabled in SGR mode and disabled at the end; --no-mouse and the configuration leave it to the terminal', async () => {
    await open()
    expect(terminal.written).toContain('\u001b[?1006h')
    terminal.press('q')
    await terminal.end()
    expect(terminal.written).toMatch(/\u001b\[\?1006l\u001b\[\?1002l\u001b\[\?1000l/)
    await open({ args: ['--no-mouse'] })
    expect(terminal.written).not.toMatch(/\?100[0236]h/)
    terminal.close()
    await world.cli.ok(['config', 'set', 'mouse', 'off'])
    await open()
    expect(terminal.written).not.toMatch(/\?100[0236]h/)
    await world.cli.ok(['config', 'set', 'mouse', ''])
  })

  test('on a narrow screen a click on the name of a column shows it', async () => {
    await world.card('Only this')
    await world.card('Over there', { columnId: world.columns.active })
    await open({ width: 60, height: 20 })
    click('Done 0')
    await terminal.shows('No cards.')
    click('In Progress')
    await terminal.shows(/Over there/)
    click('Backlog')
    await terminal.shows(/Only this/)
    expect(line('Over there')).toBe('')
  })
})

test('mouse sequences are decoded at any split, and invalid ones are ignored', () => {
  const decoder = createDecoder()
  const keys = [...'\u001b[<0;300;12M\u001b[<35;1;1M\u001b[<65;9999999;1M\u001b[<64;2;3Mj'].flatMap(sign =>
    decoder.push(sign),
  )
  expect(keys.map(({ name, mouse }) => mouse ?? name)).toEqual([
    { type: 'press', button: 'left', x: 299, y: 11, ctrl: false },
    { type: 'wheelUp', button: 'middle', x: 1, y: 2, ctrl: false },
    'j',
  ])
})
