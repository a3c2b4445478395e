import { describe, expect, test } from 'vitest'
import { line, open, terminal, useEmptyBoard, world } from './emptyBoard.ts'

useEmptyBoard()
const place = (cardId: string) => ({ projectId: world.projectId, cardId })
const read = (cardId: string) => world.server.client.cards.get(place(cardId))

describe('the comments of a card', () => {
  test('are shown live in a tab of the card, with their authors and sanitized control characters', async () => {
    const id = await world.card('Talked about')
    await world.server.client.comments.create({ ...place(id), body: 'Have a look, @[Ada](7).\n\u001b[31mred' })
    await open()
    terminal.press('enter')
    await terminal.shows('[Prompt]')
    terminal.press('h')
    await terminal.shows('[Comments]')
    await terminal.shows('Have a look, @Ada.')
    expect(terminal.text()).toContain('Local operator')
    expect(terminal.styleAt('red')!.color).not.toBe(1)
    await world.server.client.comments.create({ ...place(id), body: 'So I did.' })
    await terminal.shows('So I did.')
    const { items } = await world.server.client.comments.list(place(id))
    await world.server.client.comments.delete({ ...place(id), commentId: items[0]!.id })
    await terminal.lacks('So I did.')
  })

  test('of a card without any show that; C writes one', async () => {
    const id = await world.card('Silent')
    await open()
    terminal.press('enter', 'h')
    await terminal.shows('This card has no comments yet.')
    terminal.press('C')
    await terminal.shows(`Comment on card ${id}`)
    terminal.press('A word.')
    await terminal.shows('A word.')
    terminal.press('enter')
    await terminal.shows(`Commented on card ${id}.`)
    await terminal.shows(/Local operator +\d{4}-\d\d-\d\d \d\d:\d\d/)
    expect((await world.server.client.comments.list(place(id))).items.map(({ body }) => body)).toEqual(['A word.'])
    expect(line('A word.')).toMatch(/^ {3}A word\./)
  })

  test('is written on the board also, and escape writes none', async () => {
    const id = await world.card('From outside')
    await open()
    terminal.press('C')
    await terminal.shows(`Comment on card ${id}`)
    terminal.press('no')
    terminal.press('escape')
    await terminal.lacks(`Comment on card ${id}`)
    terminal.press('C')
    terminal.press('yes')
    terminal.press('enter')
    await terminal.shows(`Commented on card ${id}.`)
    expect((await world.server.client.comments.list(place(id))).items.map(({ body }) => body)).toEqual(['yes'])
  })
})

describe('the plan of a card', () => {
  const pick = async (words: string, shown: string | RegExp) => {
    terminal.press('E')
    await terminal.shows(/Plan of/)
    terminal.press(words)
    await terminal.shows(shown)
    terminal.press('enter')
    await terminal.lacks(/Plan of/)
  }

  test('is set from a list: priority, due date and estimate, by name and as typed text', async () => {
    const id = await world.card('Planned')
    await open()
    terminal.press('enter')
    await terminal.shows('[Prompt]')
    await pick('urg', /▸? ?\[ \] priority urgent/)
    await terminal.shows(/· priority urgent/)
    await pick('2030-01-31', 'due date 2030-01-31')
    await terminal.shows(`Card ${id} has the due date 2030-01-31.`)
    expect((await read(id)).dueAt).toBe(new Date(new Date(2030, 1, 1).getTime() - 1).toISOString())
    await pick('2.5', 'estimate 2.5')
    await terminal.shows(/estimate 2\.5 ·/)
    expect(await read(id)).toMatchObject({ priority: 'urgent', estimate: 2.5 })
    terminal.press('E')
    await terminal.shows('[x] priority urgent')
    terminal.press('escape')
    await pick('no due', 'no due date')
    await pick('no est', 'no estimate')
    await terminal.shows(`Card ${id} has no estimate.`)
    expect(await read(id)).toMatchObject({ dueAt: null, estimate: null })
  })

  test('of several cards gets the same assignees, which the list shows, and loses them again', async () => {
    const { client } = world.server
    const { token, user } = await world.server
      .as()
      .auth.setup({ email: 'ada@example.org', password: 'correct horse', displayName: 'Ada Lovelace' })
    expect(token).not.toBe('')
    const ids = [await world.card('first'), await world.card('second')]
    await client.cards.update({ ...place(ids[0]!), assigneeNames: ['Bob, who left'] })
    await open()
    terminal.press('V')
    await terminal.shows('2 selected')
    await pick('ada', /\[ \] assign Ada Lovelace/)
    await terminal.shows(/is assigned to Ada Lovelace/)
    for (const id of ids)
      await expect
        .poll(async () => (await read(id)).assignees)
        .toContainEqual({ userId: user.id, displayName: 'Ada Lovelace' })
    expect((await read(ids[0]!)).assignees).toContainEqual({ name: 'Bob, who left' })
    terminal.press('V')
    await pick('ada', /\[x\] assign Ada Lovelace/)
    for (const id of ids)
      await expect.poll(async () => (await read(id)).assignees.filter(each => 'userId' in each)).toEqual([])
  })
})

describe('a rejected action that can be forced', () => {
  const limit = (wipLimit: number | null) =>
    world.server.client.columns.update({ projectId: world.projectId, columnId: world.columns.done, wipLimit })

  test('asks with its reason: cards into a full column', async () => {
    await limit(1)
    try {
      await world.card('there', { columnId: world.columns.done })
      for (const title of ['one', 'two']) await world.card(title)
      await open()
      await terminal.shows('#')
      terminal.press('V', 'c')
      terminal.press('Done')
      terminal.press('enter')
      await terminal.shows(/full/)
      await terminal.shows(/all 2 there anyway\?/)
      expect(await world.titles(world.columns.done)).toEqual(['there'])
      terminal.press('n')
      await terminal.lacks('anyway')
      expect(await world.titles(world.columns.backlog)).toHaveLength(2)
      await terminal.shows('2 selected')
      terminal.press('c')
      terminal.press('Done')
      terminal.press('enter')
      await terminal.shows(/all 2 there anyway\?/)
      terminal.press('y')
      await terminal.lacks('anyway')
      await expect.poll(() => world.titles(world.columns.done)).toHaveLength(3)
    } finally {
      await limit(null)
    }
  })

  test('asks with its reason: a start of a card that waits for another one', async () => {
    const first = await world.card('first')
    const id = await world.card('second')
    await world.server.client.cards.update({ ...place(id), blockedBy: [first] })
    await open()
    terminal.press('/')
    terminal.press('second')
    terminal.press('enter', 'r')
    await terminal.shows(new RegExp(`is blocked by card ${first}`))
    await terminal.shows('Start it anyway?')
    expect((await read(id)).columnId).toBe(world.columns.backlog)
    terminal.press('y')
    // Only the missing agent prevents the start now.
    await terminal.lacks('anyway')
    await terminal.shows(/No agent/)
  })
})
