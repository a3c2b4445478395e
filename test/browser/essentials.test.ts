import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { canBeDragged, noBrowser, visitors } from '../support/browsers/browser.ts'

describe.skipIf(noBrowser !== undefined)('the page', () => {
  const visit = visitors()
  let board: AgentBoard
  beforeEach(async () => {
    board = await startAgentBoard({ reviewed: { fixture: 'reviewed' } })
    await board.client.projects.update({ id: board.projectId, agent: 'reviewed' })
  })
  afterEach(() => board.close())

  test.each(['light', 'dark'] as const)(
    'creates the first account, then creates, moves, opens and reviews a card, in the %s theme',
    async colorScheme => {
      const { projectId } = board
      const at = `#/projects/${projectId}`
      const { page, axeViolations, settled } = await visit(board, { isStranger: true, at, colorScheme })

      await page.getByRole('heading', { name: 'Welcome to board' }).waitFor()
      expect(await axeViolations()).toEqual([])
      await page.getByLabel('Name').fill('Ada')
      await page.getByLabel('Email').fill('ada@example.org')
      await page.getByLabel('Password').fill('correct horse')
      await page.getByRole('button', { name: 'Create account' }).click()

      const column = (name: string) => page.getByRole('region', { name: new RegExp(`^${name},`) })
      await column('Backlog').getByRole('button', { name: 'New card' }).click()
      await page.getByRole('textbox', { name: 'Title of a new card in Backlog' }).fill('Write notes')
      await page.keyboard.press('Enter')
      await page.keyboard.press('Escape')
      const card = (place: string) => column(place).getByRole('link', { name: 'Write notes', exact: true })
      await card('Backlog').waitFor()
      await settled()
      expect(await axeViolations()).toEqual([])

      await canBeDragged(page)
      const from = (await card('Backlog').boundingBox())!
      const to = (await column('In Progress').boundingBox())!
      await page.mouse.move(from.x + 5, from.y + 5)
      await page.mouse.down()
      await page.mouse.move(from.x + 40, from.y + 30, { steps: 5 })
      await page.mouse.move(to.x + to.width / 2, to.y + 100, { steps: 10 })
      await page.mouse.up()
      await card('In Progress').waitFor()
      const [created] = await board.client.cards.list({ projectId })
      const { id } = created!
      await board.untilStatus(id, 'completed')

      await card('In Progress').click()
      await page.getByRole('tab', { name: 'Changes' }).click()
      const file = page.getByRole('region', { name: 'notes.txt' })
      await file.getByRole('button', { name: 'Comment on line 1', exact: true }).click()
      await page.getByRole('textbox', { name: 'Comment on line 1' }).fill('Which notes?')
      await page.getByRole('button', { name: 'Add comment' }).click()
      await settled()
      expect(await axeViolations()).toEqual([])
      await page.getByRole('button', { name: 'Request changes…' }).click()
      await page.getByRole('button', { name: 'Request changes and start the agent' }).click()
      await file.getByText('Done: Which notes?').waitFor()
      const [review] = await board.client.reviews.list({ projectId, cardId: id })
      expect(review).toMatchObject({ verdict: 'request_changes', comments: [{ line: 1, body: 'Which notes?' }] })
    },
  )
})
