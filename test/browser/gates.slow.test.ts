import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { choose } from '../support/browsers/choose.ts'
import { eventually } from '../support/waiting/eventually.ts'

describe.skipIf(noBrowser !== undefined)('gates', () => {
  const visit = visitors()
  let board: AgentBoard
  afterEach(() => board.close())

  test('are set up by an admin, run on a card, and show their results and output', async () => {
    board = await startAgentBoard({
      worker: { command: ['sh', '-c', 'echo work > work; echo done'], protocol: 'command' },
    })
    const { projectId } = board
    const { page, axeViolations, settled } = await visit(board, { at: `#/projects/${projectId}/settings/gates` })
    await page.getByRole('button', { name: 'New gate' }).click()
    const form = page.getByRole('dialog', { name: 'New gate' })
    await form.getByLabel('Name').fill('unit tests')
    await form.getByLabel('Shell command').fill('echo 3 tests; test -f ok')
    await choose(form.getByLabel('When'), 'Before leaving In Progress')
    await form.getByRole('button', { name: 'Create' }).click()
    await form.waitFor({ state: 'detached' })
    await page.getByText('Before leaving In Progress').waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])

    const { id } = await board.start('worker', { useWorktree: true })
    await board.untilStatus(id, 'completed')
    await page.goto(`${board.url}/#/projects/${projectId}/cards/${id}`)
    const gates = page.locator('section', { has: page.getByRole('heading', { name: 'Gates' }) })
    await gates.getByText('open', { exact: true }).waitFor()
    await gates.getByRole('button', { name: 'Run gates' }).click()
    await gates.getByText('It failed: 3 tests').waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])
    await gates.getByRole('button', { name: 'Output of unit tests' }).click()
    const output = page.getByRole('dialog', { name: 'Output of unit tests' })
    await output.getByText('3 tests').waitFor()
    await output.getByText('failed · exit code 1').waitFor()
    await page.keyboard.press('Escape')
    writeFileSync(join(board.dataDir, 'worktrees', projectId, id, 'ok'), '')
    await gates.getByRole('button', { name: 'Run gates' }).click()
    await gates.getByText('passed', { exact: true }).waitFor()
    expect(await gates.getByRole('button', { name: 'Run gates' }).isDisabled()).toBe(true)
  })

  test('explain a refused move on the board, and run from there', async () => {
    board = await startAgentBoard({
      worker: { command: ['sh', '-c', 'echo work > work; echo done'], protocol: 'command' },
    })
    const { projectId } = board
    await board.client.gates.create({
      projectId,
      name: 'unit tests',
      command: 'test -f work',
      columnId: board.columns.active,
    })
    const { id } = await board.start('worker', { useWorktree: true })
    await board.untilStatus(id, 'completed')
    const { page } = await visit(board, { at: `#/projects/${projectId}` })
    const tile = page.locator('.card-title', { hasText: 'Work' })
    await tile.focus()
    await page.keyboard.press('L')
    await page.getByText('has not passed the gate unit tests').first().waitFor()
    await page.getByRole('button', { name: 'Run gates' }).click()
    await eventually('the result', async () => {
      const [gate] = await board.client.proofs.list({ projectId, cardId: id })
      return gate?.passed
    })
    await tile.focus()
    await page.keyboard.press('L')
    await eventually('the move', async () => (await board.card(id)).columnId === board.columns.done)
  })
})
