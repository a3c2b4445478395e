import { afterEach, describe, expect, test } from 'vitest'
import { defaultShortcuts, type ShortcutAction } from '../../src/contract/accounts/shortcuts.ts'
import { bindingOf, keymapOf } from '../../src/boardModel/keymap.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { line, open, terminal, useEmptyBoard, world } from './emptyBoard.ts'

useEmptyBoard()
afterEach(() => world.cli.ok(['config', 'set', 'preview', '']))

describe('density', () => {
  test('z shows one line per card with its title, 40 cards on 45 lines, and toggles back', async () => {
    for (let number = 1; number <= 41; number++) await world.card(`Card ${number}.`, { labels: ['label'] })
    await open({ width: 180, height: 45 })
    await terminal.shows('1 of 41')
    const shown = () => terminal.lines().filter(each => /Card \d+\./.test(each)).length
    expect(shown()).toBeLessThan(15)
    terminal.press('z')
    await terminal.shows('Card 41.')
    expect(shown()).toBe(41)
    terminal.press('z')
    await terminal.lacks('Card 41.')
  })

  test('the configuration sets the initial density', async () => {
    const id = await world.card('One')
    await world.cli.ok(['config', 'set', 'density', 'compact'])
    await open()
    await terminal.shows(`▌#${id} One`)
    terminal.close()
    await world.cli.ok(['config', 'set', 'density', ''])
    expect((await world.cli.board(['config', 'set', 'density', 'tiny'])).stderr).toContain(
      'density must be compact or comfortable',
    )
  })
})

describe('sorting', () => {
  test('S sorts the columns by change, status, title, priority and due date, and J explains why a move is impossible', async () => {
    const { client } = world.server
    const ids = []
    for (const title of ['Beta', 'Alpha', 'Gamma']) ids.push(await world.card(title))
    const { projectId } = world
    await client.cards.update({ projectId, cardId: ids[1]!, dueAt: '2020-01-31T12:00:00.000Z' })
    await client.cards.update({ projectId, cardId: ids[2]!, priority: 'urgent', dueAt: '2099-01-31T12:00:00.000Z' })
    await client.cards.update({ projectId, cardId: ids[0]!, labels: ['new'] })
    await open()
    const order = () =>
      terminal
        .lines()
        .flatMap(each => /(Alpha|Beta|Gamma)/.exec(each)?.[1] ?? [])
        .join()
    terminal.press('S')
    await terminal.shows('latest changed first')
    await eventually('the order', () => order() === 'Beta,Gamma,Alpha')
    terminal.press('S', 'S')
    await eventually('the order', () => order() === 'Alpha,Beta,Gamma')
    terminal.press('J')
    await terminal.shows('select the order of the board')
    terminal.press('S')
    await eventually('the order', () => order() === 'Gamma,Beta,Alpha')
    await terminal.shows('urgent  due 2099')
    terminal.press('S')
    await eventually('the order', () => order() === 'Alpha,Gamma,Beta')
    await terminal.shows('overdue 2020-01-31')
    terminal.press('S')
    await eventually('the order', () => order() === 'Beta,Alpha,Gamma')
    expect(await world.titles(world.columns.backlog)).toEqual(['Beta', 'Alpha', 'Gamma'])
  })
})

describe('the preview', () => {
  test('p shows the card under the cursor next to the board, without marking it as read', async () => {
    await world.card('One', { prompt: 'The prompt of One.' })
    const second = await world.card('Two', { prompt: 'The prompt of Two.' })
    await open({ width: 180, height: 45 })
    terminal.press('p')
    await terminal.shows('The prompt of One.')
    terminal.press('j')
    await terminal.shows('The prompt of Two.')
    await terminal.lacks('The prompt of One.')
    expect(terminal.text()).toContain('─ Done')
    await world.server.client.cards.update({ projectId: world.projectId, cardId: second, prompt: 'It changed.' })
    await terminal.shows('It changed.')
    terminal.resize(100, 30)
    await terminal.lacks('It changed.')
    terminal.resize(180, 45)
    await terminal.shows('It changed.')
    terminal.press('p')
    await terminal.lacks('It changed.')
  })

  test('a narrow terminal shows the required width, and the configuration can enable the preview', async () => {
    await world.card('One', { prompt: 'The prompt of One.' })
    await open()
    terminal.press('p')
    await terminal.shows('A preview requires a terminal with 130 columns. This one has 100.')
    terminal.close()
    await world.cli.ok(['config', 'set', 'preview', 'on'])
    await open({ width: 160, height: 40 })
    await terminal.shows('The prompt of One.')
  })
})

test('the card under the cursor is drawn in one color, and so are selected ones', async () => {
  await world.card('Current', { labels: ['mauve'] })
  await world.card('Other', { labels: ['violet'] })
  await open()
  expect(terminal.styleAt('mauve')).toEqual(terminal.styleAt('Current'))
  expect(terminal.styleAt('mauve')).toMatchObject({ inverse: true, dim: false, color: undefined })
  expect(terminal.styleAt('violet')).not.toEqual(terminal.styleAt('Other'))
  terminal.press('j', 'v', 'k')
  await terminal.shows('1 selected')
  await eventually(
    'one color',
    () => line('Other') !== '' && terminal.styleAt('violet')?.color === terminal.styleAt('Other')?.color,
  )
})

describe('keys', () => {
  test('a default yields to a key that the user has assigned to another action, also as a prefix', () => {
    const keymap = keymapOf({ ...defaultShortcuts, bottom: 'z z', down: 'S', add: 'y' })
    expect([bindingOf(keymap, ['z', 'z']), bindingOf(keymap, ['S']), bindingOf(keymap, ['y'])]).toEqual([
      'bottom',
      'down',
      'add',
    ])
    expect([keymap.keysOf.density, keymap.keysOf.sort, keymap.keysOf.copyTitle]).toEqual([[], [], []])
  })

  test('the defaults share no key, and none is a prefix of another', () => {
    const keys = (Object.keys(defaultShortcuts) as ShortcutAction[]).flatMap(action => keymapOf({}).keysOf[action])
    expect(new Set(keys).size).toBe(keys.length)
    expect(keys.filter(key => keys.some(other => other.startsWith(`${key} `)))).toEqual([])
  })
})
