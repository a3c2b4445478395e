import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { actOn } from '../support/browsers/actOn.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

describe.skipIf(noBrowser !== undefined)('a column with a limit, in the browser', () => {
  const visit = visitors()
  let board: TestBoard
  let projectId: string
  beforeAll(async () => {
    board = await startBoard()
    projectId = (await board.client.projects.create({ name: 'roof', path: board.folder('roof') })).id
  })
  afterAll(() => board.close())

  test('shows its number of cards, rejects a card with the reason, and accepts it with force', async () => {
    const { client } = board
    const [backlog, active, done] = await client.columns.list({ projectId })
    const first = await client.cards.create({ projectId, title: 'First', columnId: done!.id })
    const second = await client.cards.create({ projectId, title: 'Second' })
    await client.columns.reorder({ projectId, ids: [active!.id, backlog!.id, done!.id] })
    const { page, axeViolations, settled } = await visit(board, { at: `#/projects/${projectId}` })
    const head = (name: string) => page.locator('.column-head').filter({ hasText: name })
    await head('Done').getByRole('button', { name: 'Actions for column Done' }).click()
    await page.getByRole('menuitem', { name: 'Column settings…' }).click()
    const pull = page.getByRole('checkbox', { name: 'Pull cards' })
    expect(await pull.isDisabled()).toBe(true)
    await page.getByRole('spinbutton', { name: 'Limit' }).fill('1')
    expect(await pull.isDisabled()).toBe(false)
    await settled()
    expect(await axeViolations()).toEqual([])
    await page.getByRole('button', { name: 'Save' }).click()
    await head('Done').getByText('1/1').waitFor()
    expect((await client.columns.list({ projectId }))[2]).toMatchObject({ wipLimit: 1, pull: false })

    await page.getByRole('link', { name: 'Second', exact: true }).focus()
    await page.keyboard.press('L')
    await page.getByText('The column Done is full: its limit is 1, and it has 1.').waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])
    expect((await client.cards.get({ projectId, cardId: second.id })).columnType).toBe('backlog')
    // Nothing was moved, so nothing can be undone.
    const messages = page.getByRole('region', { name: 'Messages' })
    await messages.getByRole('status').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Move anyway' }).click()
    await eventually('the forced card', async () => {
      const { columnId } = await client.cards.get({ projectId, cardId: second.id })
      return columnId === done!.id
    })
    await head('Done').getByText('2/1').waitFor()
    await messages.getByRole('button', { name: 'Undo' }).click()
    await messages.getByText(/^Undid/).waitFor()
    await head('Done').getByText('1/1').waitFor()
    await page.keyboard.press('U')
    await page.getByRole('button', { name: 'Move anyway' }).click()
    await head('Done').getByText('2/1').waitFor()

    await client.columns.update({ projectId, columnId: active!.id, wipLimit: 3, pull: true })
    await head('In Progress').getByText('pulls').waitFor()
    await head('In Progress').getByText('0/3').waitFor()
    await client.cards.archive({ projectId, cardId: first.id })
    await head('Done').getByText('1/1').waitFor()
  })

  test('pulls a card of a user without permission to start agents after another user activates it', async () => {
    const { client } = board
    const { id } = await client.projects.create({ name: 'wall', path: board.folder('wall') })
    const [, active] = await client.columns.list({ projectId: id })
    await client.columns.update({ projectId: id, columnId: active!.id, wipLimit: 2, pull: true })
    const permissions = ['cards.create' as const, 'cards.read' as const]
    const { key } = await client.keys.create({ name: 'k', scope: 'project', projectId: id, permissions })
    const { id: cardId } = await board.as(key).cards.create({ projectId: id, title: 'Held back' })
    const { page, axeViolations, settled } = await visit(board, { at: `#/projects/${id}/cards/${cardId}` })
    const activate = page.getByRole('button', { name: 'Activate', exact: true })
    await activate.waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])
    await activate.click()
    // The column pulls the card. As no agent is installed here, the card can be activated there again.
    await eventually('the pull', async () => {
      const { columnId, pullable } = await client.cards.get({ projectId: id, cardId })
      return columnId === active!.id && pullable
    })
  })

  test('is in templates, and slots are those of a project and of a credential', async () => {
    const { client } = board
    const to = (section: string) => ({ at: `#/projects/${projectId}/settings/${section}` })
    const { page } = await visit(board, to('templates'))
    await page.getByRole('button', { name: 'New template' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Bounded')
    await page.getByRole('spinbutton', { name: 'Limit, column 2' }).fill('2')
    await page.getByRole('checkbox', { name: 'Pull cards, column 2' }).check()
    await page.getByRole('spinbutton', { name: 'Limit, column 3' }).fill('9')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('listitem').filter({ hasText: 'Bounded' }).waitFor()
    const made = (await client.templates.list()).find(({ name }) => name === 'Bounded')!
    expect(made.columns.map(({ wipLimit, pull }) => [wipLimit, pull])).toEqual([
      [null, false],
      [2, true],
      [9, false],
    ])

    const agents = (await visit(board, to('agents'))).page
    const slots = agents.getByRole('spinbutton', { name: 'Concurrent agents' })
    for (const [typed, kept] of [
      ['3', 3],
      ['', null],
    ] as const) {
      await slots.fill(typed)
      await agents.getByRole('button', { name: 'Save limits' }).click()
      await eventually('the slots', async () => (await client.projects.get({ id: projectId })).agentSlots === kept)
    }
    const cards = agents.getByRole('spinbutton', { name: 'Cards per session' })
    for (const [typed, kept] of [
      ['20', 20],
      ['', 50],
    ] as const) {
      await cards.fill(typed)
      await agents.getByRole('button', { name: 'Save limits' }).click()
      await eventually('the limit', async () => (await client.projects.get({ id: projectId })).sessionCards === kept)
    }

    const { id } = await client.credentials.create({ name: 'work', provider: 'openai', apiKey: 'sk-0123456789abcdef' })
    const credentials = (await visit(board, to('credentials'))).page
    await actOn(credentials, 'work', 'Edit')
    await credentials.getByRole('spinbutton', { name: 'Concurrent agents' }).fill('1')
    await credentials.getByRole('button', { name: 'Save', exact: true }).click()
    await eventually('its slots', async () => (await client.credentials.get({ id })).agentSlots === 1)
  })
})
