import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noBrowser !== undefined)('a card that waits for others, in the browser', () => {
  const visit = visitors()
  let board: TestBoard
  let projectId: string
  beforeAll(async () => {
    board = await startBoard()
    projectId = (await board.client.projects.create({ name: 'roof', path: board.folder('roof') })).id
  })
  afterAll(() => board.close())
  const add = (title: string, order: { blockedBy?: string[]; parentId?: string } = {}) =>
    board.client.cards.create({ projectId, title, ...order })

  test('shows its blocker, and is unblocked when that is done', async () => {
    const [tiles, roof] = [await add('Buy tiles'), await add('Fix the roof')]
    const paint = await add('Paint', { blockedBy: [roof.id] })
    const { page, axeViolations, settled } = await visit(board, { at: `#/projects/${projectId}/cards/${roof.id}` })
    await page.getByRole('button', { name: 'Add property' }).click()
    await page.getByRole('menuitem', { name: 'Blocked by' }).click()
    await page.keyboard.type('tiles')
    await page.getByRole('option', { name: `#${tiles.id} Buy tiles` }).waitFor()
    expect(await axeViolations()).toEqual([])
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: `#${tiles.id} Buy tiles` }).waitFor()
    await page.getByText('The card cannot start until these cards are done.').waitFor()
    await page.getByRole('button', { name: 'Start anyway' }).waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])
    await page.getByRole('combobox', { name: 'Blocked by' }).focus()
    await page.keyboard.type(`#${paint.id}`)
    await page.getByRole('option', { name: `#${paint.id} Paint` }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('The cards would block each other: ').waitFor()

    await board.client.cards.complete({ projectId, cardId: tiles.id })
    await page.getByRole('button', { name: 'Start', exact: true }).waitFor()
    await page.getByRole('button', { name: `Remove card ${tiles.id}` }).click()
    await page.getByRole('link', { name: 'Buy tiles' }).waitFor({ state: 'detached' })
    expect(await board.client.cards.get({ projectId, cardId: roof.id })).toMatchObject({
      blockedBy: [],
      blocked: false,
    })
  })

  test('a number of a card in a text is a link to it', async () => {
    const tiles = await add('Buy red tiles')
    const prompt = `After **#${tiles.id}**, not \`#1\` or [#2](https://example.org/). Then #99999.`
    const roof = await board.client.cards.create({ projectId, title: 'Cover the roof', prompt })
    const { page, axeViolations } = await visit(board, { at: `#/projects/${projectId}/boards/1/beside/${roof.id}` })
    const references = page.locator('.markdown a[href^="#"]')
    await expect.poll(() => references.allTextContents()).toEqual([`#${tiles.id}`, '#99999'])
    expect(await axeViolations()).toEqual([])
    await references.last().click()
    await page.getByRole('alert').getByText('Card not found').waitFor()
    await references.first().click()
    await page.getByRole('complementary').getByRole('heading', { name: 'Buy red tiles' }).waitFor()
    expect(page.url()).toContain(`/beside/${tiles.id}`)
  })

  test('starts at the branch of a card, or a named one', async () => {
    const [tiles, roof] = [await add('Tiles'), await add('Roof')]
    const { page, axeViolations, settled } = await visit(board, { at: `#/projects/${projectId}/cards/${roof.id}` })
    await page.getByText('Advanced').click()
    const choose = async (base: string) => {
      await page.getByRole('button', { name: 'Base…' }).click()
      await page.getByRole('textbox', { name: 'Branch, tag, commit or card' }).fill(base)
      await page.keyboard.press('Enter')
    }
    await choose(`#${tiles.id}`)
    await page.getByRole('link', { name: `the branch of card #${tiles.id}` }).waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])
    await choose('a..b')
    await page.getByText('must be the name of a branch or tag, or a commit', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await choose('release/2.0')
    await page.getByText('The base is release/2.0').waitFor()
    await choose('')
    await page.getByText('The base is').waitFor({ state: 'detached' })
    expect(await board.client.cards.get({ projectId, cardId: roof.id })).toMatchObject({ base: null, baseCardId: null })
  })

  test('is shown on the board as waiting, and a card with parts with the number of done parts', async () => {
    const whole = await add('The whole building')
    const part = await add('The cellar', { parentId: whole.id, blockedBy: [whole.id] })
    const { page, axeViolations, settled } = await visit(board, { at: `#/projects/${projectId}` })
    const tile = (title: string) => page.locator('.card').filter({ hasText: title })
    await tile('The cellar').getByText('waits').waitFor()
    await tile('The whole building').getByRole('img', { name: '0 of 1 parts done' }).waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])
    await board.client.cards.complete({ projectId, cardId: part.id })
    await tile('The whole building').getByRole('img', { name: '1 of 1 parts done' }).waitFor()
    await tile('The cellar').getByText('waits').waitFor({ state: 'detached' })
  })
})
