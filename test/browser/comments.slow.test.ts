import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noBrowser !== undefined)('comments on a card, in the browser', () => {
  const visit = visitors()
  let board: TestBoard
  let projectId: string
  let grace: string
  let token: string
  beforeAll(async () => {
    board = await startBoard()
    await board.client.auth.setup({ email: 'ada@example.org', password: 'a long password', displayName: 'Ada' })
    projectId = (await board.client.projects.create({ name: 'roof', path: board.folder('roof') })).id
    const registered = await registerConfirmed(board, { email: 'grace@example.org', password: 'a long password' })
    const { user } = registered
    ;({ token } = registered)
    grace = user.id
    await board.client.members.add({ id: projectId, email: user.email, role: 'viewer' })
  })
  afterAll(() => board.close())
  const add = async (title: string) => {
    const { id: cardId } = await board.client.cards.create({ projectId, title })
    return { cardId, at: `#/projects/${projectId}/cards/${cardId}` }
  }

  test('are written with a mention by keyboard, edited, and deleted', async () => {
    const { cardId, at } = await add('Fix the roof')
    const { page, axeViolations, settled } = await visit(board, { at })
    await page.getByText('created it in Backlog').waitFor()
    await page.getByRole('button', { name: 'Comment', exact: true }).click()
    const box = page.getByRole('textbox', { name: 'Write a comment' })
    await box.pressSequentially('Look, @gra')
    await page.getByRole('option', { name: 'grace' }).waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])
    await page.keyboard.press('Enter')
    await box.pressSequentially('**please** <img src=x onerror=alert(1)>')
    await page.keyboard.press('Control+Enter')
    const comment = page.getByRole('article', { name: 'Comment by Ada' })
    await comment.getByText('please', { exact: true }).waitFor()
    expect(await comment.locator('img').count()).toBe(0)
    const written = (await board.client.comments.list({ projectId, cardId })).items
    expect(written.map(({ body }) => body)).toEqual([
      `Look, @[grace](${grace}) **please** <img src=x onerror=alert(1)>`,
    ])
    await page.getByRole('button', { name: 'Comments 1' }).waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])

    await comment.getByRole('button', { name: 'Edit comment' }).click()
    await page.getByRole('textbox', { name: 'Comment', exact: true }).fill('Thank you')
    await page.keyboard.press('Control+Enter')
    await comment.getByText('Thank you').waitFor()
    await comment.getByText(', edited').waitFor()
    await comment.getByRole('button', { name: 'Delete comment' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await comment.waitFor({ state: 'detached' })
    await page.getByText('deleted a comment').waitFor()
  })

  test("of others appear live, in the order of the card's activity", async () => {
    const { cardId, at } = await add('Buy tiles')
    const { page } = await visit(board, { at })
    await page.getByText('created it in Backlog').waitFor()
    await board.client.cards.update({ projectId, cardId, title: 'Buy red tiles' })
    await board.client.comments.create({ projectId, cardId, body: 'Which red?' })
    await page.getByText('changed title: Buy tiles → Buy red tiles').waitFor()
    await page.getByRole('article', { name: 'Comment by Ada' }).getByText('Which red?').waitFor()
    expect(await page.getByRole('region', { name: 'Activity' }).locator('ol > .stream-line').allInnerTexts()).toEqual(
      ['created it', 'changed title', 'Which red'].map(text => expect.stringContaining(text)),
    )
  })

  test('with a mention are in the inbox: read if the user saw them live, else unread until the user opens them', async () => {
    const { cardId, at } = await add('Clean the gutter')
    const { id } = await board.client.auth.me()
    const mention = (text: string) =>
      board.as(token).comments.create({ projectId, cardId, body: `@[Ada](${id}) ${text}` })
    const { page } = await visit(board, { at })
    await page.getByText('created it in Backlog').waitFor()
    await mention('today')
    await page.getByRole('article', { name: 'Comment by grace' }).getByText('today').waitFor()
    await expect.poll(async () => (await board.client.inbox.list({ kind: 'mention' })).items[0]?.state).toBe('read')

    await page.getByRole('link', { name: 'board, home' }).click()
    const mentions = page.getByRole('list', { name: 'Mentions' })
    await mentions.getByText('grace: @Ada today').waitFor()
    await expect.poll(() => page.title()).toBe('Home · board')
    await mention('tomorrow')
    await mentions.getByText('grace: @Ada tomorrow').waitFor()
    await expect.poll(() => page.title()).toBe('(1) Home · board')
    await mentions.getByRole('link', { name: 'Clean the gutter' }).click()
    await page.getByRole('article', { name: 'Comment by grace' }).getByText('tomorrow').waitFor()
    await expect.poll(() => page.title()).toBe('Clean the gutter · board')
  })

  test('and the prompt have tasks, which their authors check in place', async () => {
    const { cardId, at } = await add('Move in')
    const place = { projectId, cardId }
    await board.client.cards.update({ ...place, prompt: 'First:\n\n- [ ] keys for #1\n- [x] boxes\n' })
    await board.client.comments.create({ ...place, body: '1. [ ] **call** the movers' })
    await board.as(token).comments.create({ ...place, body: '- [ ] paint' })
    const { page, axeViolations, settled } = await visit(board, { at })
    const task = (name: string) => page.getByRole('checkbox', { name })
    await task('keys for #1').click()
    await expect.poll(() => task('keys for #1').isChecked()).toBe(true)
    await task('boxes').press('Space')
    await expect.poll(() => task('boxes').isChecked()).toBe(false)
    expect((await board.client.cards.get(place)).prompt).toBe('First:\n\n- [x] keys for #1\n- [ ] boxes\n')
    expect(await task('paint').isDisabled()).toBe(true)
    await settled()
    expect(await axeViolations()).toEqual([])
    await task('call the movers').click()
    await page.getByText(', edited').waitFor()
    const { items } = await board.client.comments.list(place)
    expect(items.map(({ body }) => body)).toEqual(['- [ ] paint', '1. [x] **call** the movers'])
  })

  test('accept files, which become attachments with a link in the comment', async () => {
    const { cardId, at } = await add('Paint the door')
    const { page } = await visit(board, { at })
    await page.getByRole('button', { name: 'Comments' }).click()
    await page.waitForURL(/\?show=comment$/)
    await page.locator('.comment-box input[type=file]').setInputFiles({
      name: 'door.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('red'),
    })
    const box = page.getByRole('textbox', { name: 'Write a comment' })
    await expect.poll(() => box.inputValue()).toMatch(/^\[door\.txt\]\(attachment:\d+\) $/)
    await box.press('Control+Enter')
    const downloading = page.waitForEvent('download')
    await page.getByRole('article').getByRole('button', { name: 'door.txt' }).click()
    expect((await downloading).suggestedFilename()).toBe('door.txt')
    expect((await board.client.attachments.list({ projectId, cardId })).map(({ filename }) => filename)).toEqual([
      'door.txt',
    ])
  })
})
