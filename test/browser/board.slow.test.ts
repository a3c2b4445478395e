import type { Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { canBeDragged, holdRequests, noBrowser, visitors } from '../support/browsers/browser.ts'
import { choose } from '../support/browsers/choose.ts'
import { startBoardWithProject, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noBrowser !== undefined)('the board', () => {
  const visit = visitors()
  let board: TestBoard
  let projectId: string
  let columns: Awaited<ReturnType<TestBoard['client']['columns']['list']>>
  beforeEach(async () => {
    ;({ board, projectId } = await startBoardWithProject())
    columns = await board.client.columns.list({ projectId })
  })
  afterEach(() => board.close())

  const add = (title: string, at = 0) =>
    board.client.cards.create({ projectId, title, columnId: columns[at]!.id, deferred: true })
  const column = (page: Page, name: string) => page.getByRole('region', { name: new RegExp(`^${name},`) })
  const titles = (page: Page, name: string) => column(page, name).locator('.card-title').allInnerTexts()
  const card = (page: Page, title: string) => page.getByRole('link', { name: title, exact: true })
  const open = async (options = {}) => {
    const visitor = await visit(board, { at: `#/projects/${projectId}`, ...options })
    await column(visitor.page, 'Backlog').waitFor()
    await visitor.settled()
    return visitor
  }
  const tileOf = (page: Page, title: string) => page.locator('.card').filter({ hasText: title })
  const until = async (read: () => Promise<unknown>, wanted: unknown) => {
    await expect.poll(read).toEqual(wanted)
  }
  const stored = async (at: number) => {
    const cards = await board.client.cards.list({ projectId, columnId: columns[at]!.id, offset: 0 })
    return cards.map(({ title }) => title)
  }

  test('two windows see each other’s moves, and the page has no violations of WCAG 2.2 in both themes', async () => {
    await add('First')
    await add('Second')
    const { page, axeViolations } = await open()
    const other = await open({ colorScheme: 'dark' })
    await card(page, 'First').focus()
    await page.keyboard.press('L')
    await page.getByRole('alertdialog').or(page.getByText('Moved card')).first().waitFor()
    await until(() => titles(other.page, 'In Progress'), ['First'])
    await until(() => titles(other.page, 'Backlog'), ['Second'])
    expect(await axeViolations()).toEqual([])
    expect(await other.axeViolations()).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollHeight - innerHeight')).toBe(0)
  })

  test('a card shows its agent, its new attachments and its creator, by whom cards can be filtered', async () => {
    const { id: cardId } = await add('Of Anna')
    await board.client.cards.update({ projectId, cardId, agent: 'qwen' })
    await board.as().auth.setup({ email: 'anna@example.org', password: 'a long password', displayName: 'Anna Berg' })
    const email = 'bo@example.org'
    const { generatedPassword: password } = await board.client.users.create({ email, name: 'Bo Dahl', role: 'user' })
    await board.client.members.add({ id: projectId, email })
    const bo = await board.as().auth.login({ email, password })
    await board.as(bo.token).cards.create({ projectId, title: 'Of Bo' })
    const { page, axeViolations } = await open()
    const tile = (title: string) => page.locator('.card').filter({ hasText: title })
    await tile('Of Anna').getByText('qwen').waitFor()
    const file = { path: 'package.json' }
    const { id: attachmentId } = await board.client.attachments.create({ projectId, cardId, file })
    await tile('Of Anna').getByRole('img', { name: '1 attachment' }).waitFor()
    await board.client.attachments.delete({ attachmentId })
    await tile('Of Anna').getByRole('img', { name: '1 attachment' }).waitFor({ state: 'detached' })
    const filterBy = async (name: string) => {
      await page.getByRole('combobox', { name: 'Add filter' }).click()
      await page.getByRole('option', { name, exact: true }).click()
    }
    await filterBy('Creator: Bo Dahl')
    await until(() => titles(page, 'Backlog'), ['Of Bo'])
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await filterBy('Agent: qwen')
    await until(() => titles(page, 'Backlog'), ['Of Anna'])
    expect(await axeViolations()).toEqual([])
  })

  test('cards take one line each if the user enables it, in every window', async () => {
    await add('One')
    const { page, axeViolations } = await open()
    const height = async () => (await page.locator('.card').boundingBox())!.height
    const usual = await height()
    await card(page, 'One').focus()
    await page.keyboard.press('z')
    await expect.poll(height).toBeLessThan(usual - 20)
    await until(() => page.locator(':focus').innerText(), 'One')
    expect(await axeViolations()).toEqual([])
    const other = await open({ colorScheme: 'dark' })
    const low = await height()
    await expect.poll(async () => (await other.page.locator('.card').boundingBox())!.height).toBe(low)
    expect(await other.axeViolations()).toEqual([])
  })

  test('late settings change the display of cards, and no typed text', async () => {
    await add('One')
    await board.client.settings.setUser({ density: 'compact' })
    const { page } = await open()
    const answer = await holdRequests(page, '**/api/user/settings')
    await page.reload()
    const field = page.getByRole('textbox', { name: 'Title of a new card in Backlog' })
    await page.getByRole('button', { name: 'New card in Backlog' }).click()
    await field.pressSequentially('Half typ')
    await card(page, 'One').waitFor()
    const usual = (await tileOf(page, 'One').boundingBox())!.height
    answer()
    await expect.poll(async () => (await tileOf(page, 'One').boundingBox())!.height).toBeLessThan(usual - 20)
    await page.keyboard.type('ed')
    await until(() => field.inputValue(), 'Half typed')
    // The column has measured its cards now: the next one is placed directly below.
    await field.press('Enter')
    await until(() => titles(page, 'Backlog'), ['One', 'Half typed'])
    const between = async () => {
      const [one, other] = await Promise.all(['One', 'Half typed'].map(title => tileOf(page, title).boundingBox()))
      return other!.y - one!.y - one!.height
    }
    await expect.poll(between).toBe(8)
  })

  test('a card is dragged with the mouse to its place in another column', async () => {
    for (const title of ['One', 'Two', 'Three']) await add(title)
    await add('There', 2)
    const { page } = await open()
    await canBeDragged(page)
    const from = (await card(page, 'Two').boundingBox())!
    const to = (await column(page, 'Done').locator('.card').boundingBox())!
    await page.mouse.move(from.x + 10, from.y + 10)
    await page.mouse.down()
    await page.mouse.move(from.x + 40, from.y + 20, { steps: 4 })
    await page.mouse.move(to.x + 40, to.y + to.height - 4, { steps: 8 })
    await page.mouse.up()
    await until(() => titles(page, 'Done'), ['There', 'Two'])
    await until(() => titles(page, 'Backlog'), ['One', 'Three'])
    await until(() => stored(2), ['There', 'Two'])
  })

  test('cards move by keyboard alone, keep the focus, and undo moves them back', async () => {
    for (const title of ['One', 'Two', 'Three']) await add(title)
    const { page } = await open()
    await card(page, 'One').focus()
    await page.keyboard.press('J')
    await until(() => titles(page, 'Backlog'), ['Two', 'One', 'Three'])
    await until(() => page.locator(':focus').innerText(), 'One')
    await page.keyboard.press('v')
    await page.keyboard.press('v')
    await page.getByText('2 selected', { exact: true }).first().waitFor()
    await page.keyboard.press('c')
    await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await until(() => titles(page, 'Done'), ['One', 'Three'])
    await page.keyboard.press('u')
    await until(() => titles(page, 'Backlog'), ['Two', 'One', 'Three'])
    await page.keyboard.press('u')
    await until(() => titles(page, 'Backlog'), ['One', 'Two', 'Three'])
    await until(() => stored(0), ['One', 'Two', 'Three'])
  })

  test('a move that the server rejects is reverted, with its reason', async () => {
    await add('One')
    const doomed = await add('Two')
    const { page } = await open()
    await card(page, 'Two').focus()
    await page.route('**/api/projects/*/cards/*/move', route =>
      board.client.columns
        .list({ projectId })
        .then(() => route.continue({ url: route.request().url().replace(`/cards/${doomed.id}/`, '/cards/999999/') })),
    )
    await page.keyboard.press('L')
    const reason = page.getByRole('alert').getByText(`Card ${doomed.id} was not moved`)
    await reason.waitFor()
    await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' })
    await until(() => titles(page, 'Backlog'), ['One', 'Two'])
    await page.unrouteAll()
    await page.keyboard.press('L')
    await until(() => stored(1), ['Two'])
    await reason.waitFor({ state: 'detached' })
  })

  test('a filter is in the address, and survives a reload, a card and the way back', async () => {
    const { id } = await add('Alpha')
    await add('Beta')
    const { page } = await open()
    await tileOf(page, 'Beta').waitFor()
    await page.getByRole('searchbox', { name: 'Filter cards' }).fill('alpha')
    await tileOf(page, 'Beta').waitFor({ state: 'detached' })
    await expect.poll(() => page.url()).toMatch(/\?filter=alpha$/)
    await page.reload()
    await tileOf(page, 'Alpha').waitFor()
    expect(await tileOf(page, 'Beta').count()).toBe(0)
    await card(page, 'Alpha').click()
    await page.getByRole('button', { name: 'Close' }).waitFor()
    expect(page.url()).toMatch(new RegExp(`/beside/${id}\\?filter=alpha$`))
    await page.goto(`${board.url}/#/projects/${projectId}/cards/${id}`)
    await page.getByRole('link', { name: 'Board', exact: true }).click()
    await tileOf(page, 'Alpha').waitFor()
    expect(await tileOf(page, 'Beta').count()).toBe(0)
    await page.getByRole('searchbox', { name: 'Filter cards' }).fill('')
    await tileOf(page, 'Beta').waitFor()
    expect(page.url()).not.toContain('filter')
  })

  test('cards are added one after the other, filtered, and found in the palette', async () => {
    const { page } = await open()
    await page.getByRole('button', { name: 'New card in Backlog' }).click()
    const field = page.getByLabel('Title of a new card in Backlog')
    await field.fill('Write the tests')
    await field.press('Enter')
    await until(() => field.inputValue(), '')
    await field.fill('Read the tests')
    await field.press('Enter')
    await until(() => titles(page, 'Backlog'), ['Write the tests', 'Read the tests'])
    await field.press('Escape')
    await page.keyboard.press('/')
    await page.keyboard.type('read')
    await until(() => titles(page, 'Backlog'), ['Read the tests'])
    await page.keyboard.press('Escape')
    await until(() => titles(page, 'Backlog'), ['Write the tests', 'Read the tests'])
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Cards, boards' }).waitFor()
    await page.keyboard.type('write')
    await page.getByRole('option', { name: /Write the tests/ }).click()
    await expect.poll(() => page.url()).toContain('/cards/')
  })

  test('the plan of several cards is changed at once, and the rest of each plan stays', async () => {
    const first = await add('First')
    await add('Second')
    await board.client.cards.update({ projectId, cardId: first.id, estimate: 3, dueAt: '2030-01-01T12:00:00.000Z' })
    const { page, axeViolations } = await open()
    await card(page, 'First').focus()
    await page.keyboard.press('v')
    await page.keyboard.press('v')
    await page.getByRole('region', { name: 'Selected cards' }).getByText('2 selected').waitFor()
    await page.keyboard.press('E')
    const dialog = page.getByRole('dialog', { name: 'Plan of 2 cards' })
    await choose(dialog.getByLabel('Priority'), 'Urgent')
    expect(await axeViolations()).toEqual([])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    const plans = async () =>
      (await board.client.cards.list({ projectId, columnId: columns[0]!.id, offset: 0 })).map(
        ({ priority, estimate, dueAt }) => [priority, estimate, dueAt?.slice(0, 10) ?? null],
      )
    await until(plans, [
      ['urgent', 3, '2030-01-01'],
      ['urgent', null, null],
    ])
    await page.getByRole('button', { name: 'Plan…' }).click()
    await choose(dialog.getByLabel('Due date'), 'On a date')
    await dialog.getByLabel('Date', { exact: true }).fill('2031-02-03')
    await dialog.getByRole('button', { name: 'Save' }).click()
    const days = async () =>
      (await board.client.cards.list({ projectId, columnId: columns[0]!.id, offset: 0 })).map(({ dueAt }) =>
        new Date(dueAt ?? 0).toDateString(),
      )
    await until(days, ['Mon Feb 03 2031', 'Mon Feb 03 2031'])
  })

  test('a card that the palette finds by a comment shows the match', async () => {
    const { id: cardId } = await add('Quiet')
    await board.client.comments.create({ projectId, cardId, body: 'The flotsam is in the way.' })
    const { page } = await open()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Cards, boards' }).waitFor()
    await page.keyboard.type('flotsam')
    await page.getByRole('option', { name: /Quiet.*in a comment by Local operator/ }).click()
    await page.getByRole('article', { name: 'Comment by Local operator' }).getByText('The flotsam').waitFor()
    expect(page.url()).toContain(`/cards/${cardId}/activity?show=comment`)
  })

  test('a hostile title is shown as text', async () => {
    const title = '<img src=x onerror="document.title=1"><script>alert(1)</script> \u202Eevil {{7*7}}'
    await add(title)
    const { page } = await open()
    await until(() => titles(page, 'Backlog'), [title])
    expect(await page.locator('.column img, .column script').count()).toBe(0)
  })

  test('the focus moves to a neighbor when another window removes the card', async () => {
    await add('One')
    const { id } = await add('Two')
    await add('Three')
    const { page } = await open()
    await card(page, 'Two').focus()
    await board.client.cards.delete({ projectId, cardId: id })
    await until(() => page.locator(':focus').innerText(), 'Three')
  })

  test('on a phone one column is shown, and a long press drags a card', async () => {
    for (const title of ['One', 'Two', 'Three']) await add(title)
    const { page, axeViolations } = await open({
      viewport: { width: 360, height: 780 },
      hasTouch: true,
      isMobile: true,
    })
    expect((await column(page, 'Backlog').boundingBox())!.width).toBe(360)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    expect(await axeViolations()).toEqual([])
    await canBeDragged(page)
    const touch = await page.context().newCDPSession(page)
    const at = async (title: string) => {
      const { x, y, height } = (await card(page, title).boundingBox())!
      return { x: x + 20, y: y + height / 2 }
    }
    const send = (type: 'touchStart' | 'touchMove' | 'touchEnd', touchPoints: { x: number; y: number }[]) =>
      touch.send('Input.dispatchTouchEvent', { type, touchPoints })
    const to = await at('Three')
    await send('touchStart', [await at('One')])
    await page.locator('.ghost').waitFor()
    await send('touchMove', [{ x: to.x, y: to.y + 60 }])
    await page.locator('.drop-line').waitFor()
    await send('touchEnd', [])
    await until(() => titles(page, 'Backlog'), ['Two', 'Three', 'One'])
    await page.getByRole('navigation', { name: 'Columns' }).getByRole('button', { name: 'Done' }).tap()
    await expect.poll(async () => Math.round((await column(page, 'Done').boundingBox())!.x)).toBe(0)
    await page.getByRole('navigation', { name: 'Columns' }).getByRole('button', { name: 'Backlog' }).tap()
    await card(page, 'Two').tap()
    await expect.poll(() => page.url()).toMatch(/cards\/\d+$/)
  })
})
