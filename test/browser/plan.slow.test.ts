import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { choose } from '../support/browsers/choose.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noBrowser !== undefined)('the assignees and due date of a card, in the browser', () => {
  const visit = visitors()
  let board: TestBoard
  let ada: Client
  let token: string
  let bob: string
  let projectId: string
  beforeAll(async () => {
    board = await startBoard()
    const account = { email: 'ada@example.org', password: 'correct horse', displayName: 'Ada Lovelace' }
    token = (await board.client.auth.setup(account)).token
    ada = board.as(token)
    const other = { email: 'bob@example.org', password: 'a long password', displayName: 'Bob Bell' }
    bob = (await registerConfirmed(board, other)).user.id
    projectId = (await ada.projects.create({ name: 'roof', path: board.folder('roof') })).id
    await ada.members.add({ id: projectId, email: 'bob@example.org' })
  })
  afterAll(() => board.close())

  test('are set on the card, and notify', async () => {
    const { id: cardId } = await ada.cards.create({ projectId, title: 'Fix the roof', assigneeNames: ['Zoe'] })
    const { page, axeViolations, settled } = await visit(
      { url: board.url, token },
      { at: `#/projects/${projectId}/cards/${cardId}` },
    )
    await choose(page.getByLabel('Assign to'), 'Bob Bell')
    await page.getByRole('button', { name: 'Remove Bob Bell' }).waitFor()
    await page.getByRole('button', { name: 'Remove Zoe' }).click()
    await page.getByRole('button', { name: 'Remove Zoe' }).waitFor({ state: 'detached' })
    const rail = page.getByRole('region', { name: 'Properties' })
    await choose(rail.getByLabel('Priority'), 'Urgent')
    const add = async (name: string, value: string) => {
      await rail.getByRole('button', { name: 'Add property' }).click()
      await page.getByRole('menuitem', { name, exact: true }).click()
      await page.getByLabel(name, { exact: true }).and(page.locator('input')).fill(value)
    }
    await add('Due date', '2020-01-31')
    expect(await axeViolations()).toEqual([])
    await page.keyboard.press('Enter')
    await rail.getByRole('button', { name: 'Due date: Jan 31, 2020, overdue' }).waitFor()
    await add('Start', '2099-01-15T08:30')
    await page.getByText('The card does not start before this time.').waitFor()
    expect((await ada.cards.get({ projectId, cardId })).startAt).toBe(null)
    await page.keyboard.press('Enter')
    await rail.getByRole('button', { name: /^Start: Jan 15, 2099/ }).waitFor()
    await add('Estimate', '3')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'Estimate' }).waitFor({ state: 'detached' })
    await rail.getByRole('button', { name: 'Estimate: None' }).click()
    await page.getByLabel('Estimate', { exact: true }).and(page.locator('input')).fill('2.5')
    // A click elsewhere saves as well.
    await page.getByRole('heading', { name: 'Prompt' }).click()
    await rail.getByRole('button', { name: 'Estimate: 2.5' }).waitFor()
    await page.getByRole('button', { name: 'Watching', pressed: true }).click()
    await page.getByRole('button', { name: 'Watch', exact: true, pressed: false }).waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])
    await expect
      .poll(() => ada.cards.get({ projectId, cardId }))
      .toMatchObject({
        assignees: [{ userId: bob, displayName: 'Bob Bell' }],
        priority: 'urgent',
        dueAt: expect.stringMatching(/^2020-0[12]-/),
        estimate: 2.5,
        startAt: new Date(2099, 0, 15, 8, 30).toISOString(),
        watching: false,
      })
    await rail.getByRole('button', { name: /^Due date/ }).click()
    await page.getByRole('button', { name: 'Clear' }).click()
    await rail.getByRole('button', { name: 'Due date: None' }).waitFor()
    await expect.poll(async () => (await ada.cards.get({ projectId, cardId })).dueAt).toBe(null)
  })

  test('are folded above the prompt in a narrow window', async () => {
    const { id: cardId } = await ada.cards.create({ projectId, title: 'Paint', priority: 'high', labels: ['house'] })
    const { page, axeViolations, settled } = await visit(
      { url: board.url, token },
      { at: `#/projects/${projectId}/cards/${cardId}`, viewport: { width: 360, height: 740 } },
    )
    await page.getByText('priority high, house').click()
    await choose(page.getByLabel('Priority'), 'Low')
    await settled()
    expect(await axeViolations()).toEqual([])
    await expect.poll(async () => (await ada.cards.get({ projectId, cardId })).priority).toBe('low')
  })

  test('are shown on the board, and filter it', async () => {
    const late = { dueAt: '2020-01-31T12:00:00.000Z', priority: 'high' } as const
    await ada.cards.create({ projectId, title: 'Late', ...late, assigneeIds: [bob] })
    await ada.cards.create({ projectId, title: 'Soon', dueAt: '2099-01-31T12:00:00.000Z' })
    const [, , done] = await ada.columns.list({ projectId })
    await ada.cards.create({ projectId, title: 'Finished', columnId: done!.id, ...late })
    const { page, axeViolations, settled } = await visit({ url: board.url, token }, { at: `#/projects/${projectId}` })
    const tile = (title: string) => page.locator('.card').filter({ hasText: title })
    await tile('Late').getByText('overdue').waitFor()
    await tile('Late').getByText('high').waitFor()
    await tile('Late').getByRole('img', { name: 'assigned to Bob Bell' }).waitFor()
    await tile('Soon').getByText('due Jan 31, 2099').waitFor()
    expect(await tile('Finished').getByText('overdue').count()).toBe(0)
    await settled()
    expect(await axeViolations()).toEqual([])
    await page.getByRole('combobox', { name: 'Add filter' }).click()
    await page.getByRole('option', { name: 'Overdue' }).click()
    await tile('Soon').waitFor({ state: 'detached' })
    expect(await page.locator('.card .card-title').allTextContents()).toEqual(expect.arrayContaining(['Late']))
    expect(await tile('Finished').count()).toBe(0)
    await page.getByLabel('Filter cards').fill('@bob !high')
    await tile('Fix the roof').waitFor({ state: 'detached' })
    expect(await page.locator('.card .card-title').allTextContents()).toEqual(['Late'])
  })
})
