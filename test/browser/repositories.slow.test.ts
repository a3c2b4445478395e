import { join } from 'node:path'
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeRepository, startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { choose } from '../support/browsers/choose.ts'

describe.skipIf(noBrowser !== undefined)('several repositories', () => {
  const visit = visitors()
  let board: AgentBoard
  beforeAll(async () => {
    board = await startAgentBoard({
      lib: { protocol: 'command', command: ['sh', '-c', 'cd "$BOARD_REPOSITORIES/lib" && echo mine > mine'] },
    })
  })
  afterAll(() => board.close())

  test("a repository is added in the settings, and a card's changes there are shown and merged", async () => {
    const lib = makeRepository(board.folder('lib'))
    const settings = await visit(board, { at: `#/projects/${board.projectId}/settings/general` })
    await settings.page.getByRole('button', { name: 'New repository' }).click()
    await settings.page.getByLabel('Repository name').fill('lib')
    await settings.page.getByLabel('Repository folder').fill(lib)
    await settings.page.getByRole('button', { name: 'Create' }).click()
    await settings.page.getByRole('button', { name: 'Actions for lib' }).waitFor()
    expect(await settings.axeViolations()).toEqual([])

    const { id } = await board.start('lib')
    await board.untilStatus(id, 'completed')
    const { page, axeViolations } = await visit(board, { at: `#/projects/${board.projectId}/cards/${id}/changes` })
    await choose(page.getByLabel('Repository'), /^lib /)
    await page.getByRole('region', { name: 'mine' }).waitFor()
    await page.getByRole('heading', { name: 'Branch in lib' }).waitFor()
    expect(await axeViolations()).toEqual([])
    await page.getByRole('button', { name: 'Merge…' }).click()
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    await page.getByText(/Merged into main as \w+ in lib\./).waitFor()
    expect(existsSync(join(lib, 'mine'))).toBe(true)
  })
})
