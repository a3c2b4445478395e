import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { actOn } from '../support/browsers/actOn.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { choose } from '../support/browsers/choose.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'

describe.skipIf(noBrowser !== undefined)('schedules, in the browser', () => {
  const visit = visitors()
  let board: AgentBoard
  let at: string
  beforeAll(async () => {
    board = await startAgentBoard({ well: { name: 'Well Behaved', fixture: 'well-behaved' } })
    await board.as().auth.setup({ email: 'ada@example.org', password: 'correct horse', displayName: 'Ada' })
    at = `#/projects/${board.projectId}/settings/schedules`
  })
  afterAll(() => board.close())
  // The first test might have failed.
  beforeEach(async () => {
    for (const { id: scheduleId } of await list())
      await board.client.schedules.delete({ projectId: board.projectId, scheduleId })
  })
  const list = () => board.client.schedules.list({ projectId: board.projectId })

  test('a schedule is created with its agent, people and worktree, paused, run now, changed and deleted', async () => {
    const { page, axeViolations, settled } = await visit(board, { at })
    await page.getByText('No schedules.').waitFor()
    await page.getByRole('button', { name: 'New schedule' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/^Next: /).waitFor()
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('Nightly')
    await dialog.getByRole('textbox', { name: 'Card title' }).fill('Look at {date}')
    await choose(dialog.getByRole('combobox', { name: 'Agent' }), 'Well Behaved')
    await choose(dialog.getByRole('combobox', { name: 'Assign to' }), 'Ada (you)')
    await dialog.getByRole('button', { name: 'Remove Ada' }).waitFor()
    await dialog.getByRole('checkbox', { name: 'Separate worktree' }).uncheck()
    await settled()
    expect(await axeViolations()).toEqual([])
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('listitem').filter({ hasText: 'Nightly' }).waitFor()
    const [made] = await list()
    const userId = (await board.client.members.people({ projectId: board.projectId }))[0]!.userId
    expect(made).toMatchObject({
      name: 'Nightly',
      enabled: true,
      template: { title: 'Look at {date}', agent: 'well', assigneeIds: [userId], useWorktree: false, autoMode: false },
    })
    await settled()
    expect(await axeViolations()).toEqual([])

    await actOn(page, 'Nightly', 'Run now')
    await page.getByText(/Added "Look at \d{4}-\d\d-\d\d"/).waitFor()
    const lastCardId = (await list())[0]!.lastCardId!
    await page.getByRole('link', { name: `card ${lastCardId}` }).waitFor()
    expect(await board.card(lastCardId)).toMatchObject({ agent: 'well', useWorktree: false })

    await actOn(page, 'Nightly', 'Edit')
    await dialog.getByRole('checkbox', { name: 'Enabled' }).uncheck()
    await dialog.getByRole('button', { name: 'Remove Ada' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('listitem').filter({ hasText: 'off' }).waitFor()
    expect((await list())[0]).toMatchObject({
      enabled: false,
      nextRunAt: null,
      template: { assigneeIds: [], agent: 'well' },
    })

    await actOn(page, 'Nightly', 'Delete')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No schedules.').waitFor()
    expect(await list()).toEqual([])
  })

  test('a schedule is managed by keyboard alone', async () => {
    const { page } = await visit(board, { at })
    await page.getByText('No schedules.').waitFor()
    const press = async (name: string) => {
      const button = page.getByRole('button', { name, exact: true })
      await button.focus()
      await page.keyboard.press('Enter')
    }
    const act = async (action: string) => {
      await press('Actions for Weekly')
      // The first action has the focus, and letters move it.
      await page.getByRole('menuitem', { name: 'Edit' }).and(page.locator(':focus')).waitFor()
      await page.keyboard.type(action)
      await page.keyboard.press('Enter')
    }
    await press('New schedule')
    const dialog = page.getByRole('dialog')
    // The first field has the focus; a select accepts the first letters of an option.
    await page.keyboard.type('Weekly')
    await page.keyboard.press('Tab')
    // The options are available as soon as the select has the focus.
    await page.getByRole('option', { name: 'At an interval', includeHidden: true }).waitFor({ state: 'attached' })
    await page.keyboard.type('At an')
    await expect.poll(() => dialog.getByRole('combobox', { name: 'When' }).innerText()).toBe('At an interval')
    await dialog.getByRole('textbox', { name: 'Card title' }).focus()
    await page.keyboard.type('Tidy up')
    await page.keyboard.press('Enter')
    await page.getByRole('listitem').filter({ hasText: 'Weekly' }).waitFor()
    expect((await list())[0]).toMatchObject({ name: 'Weekly', everySecs: 86_400, template: { title: 'Tidy up' } })

    await act('Run')
    await page.getByText('Added "Tidy up"').waitFor()
    await act('Edit')
    await dialog.getByRole('checkbox', { name: 'Enabled' }).focus()
    await page.keyboard.press('Space')
    await page.keyboard.press('Enter')
    await page.getByRole('listitem').filter({ hasText: 'off' }).waitFor()
    await act('Delete')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete', exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(await list()).toHaveLength(1)
    await act('Delete')
    await press('Delete')
    await page.getByText('No schedules.').waitFor()
  })
})
