import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { startBoardWithProject, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noBrowser !== undefined)('the worktrees of a project', () => {
  const visit = visitors()
  let board: TestBoard
  let projectId: string
  beforeEach(async () => {
    ;({ board, projectId } = await startBoardWithProject())
  })
  afterEach(() => board.close())
  const found = () => board.client.projects.getWorktree({ id: projectId })

  test('show what board.json runs before anybody agrees to it, and are set by an admin', async () => {
    const { path } = await board.client.projects.get({ id: projectId })
    writeFileSync(join(path, 'board.json'), JSON.stringify({ setup: 'npm ci', preview: 'npm run dev' }))
    const { page, barriers } = await visit(board, { at: `#/projects/${projectId}/settings/worktrees` })
    await page.getByText('nothing of it is used before a member agrees').waitFor()
    await page.getByText('npm run dev', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Agree to this version' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Agree', exact: true }).click()
    await page.getByRole('button', { name: 'Withdraw the agreement' }).waitFor()
    expect((await found()).effective).toMatchObject({ setup: 'npm ci', ports: 1 })

    await page.getByLabel('Setup').fill('npm install')
    await page.getByLabel('Preview').fill('none')
    await page.getByLabel('Ports of each card').fill('99')
    await page.getByRole('button', { name: 'Save the worktrees' }).click()
    await page.getByText('must be at most 10', { exact: true }).waitFor()
    await page.getByLabel('Ports of each card').fill('3')
    await page.getByRole('button', { name: 'Save the worktrees' }).click()
    await page.getByText('Saved. It holds from the next start').waitFor()
    expect((await found()).effective).toMatchObject({ setup: 'npm install', preview: '', ports: 3 })
    expect(await barriers()).toEqual([])

    await page.getByRole('button', { name: 'Withdraw the agreement' }).click()
    await page.getByRole('button', { name: 'Agree to this version' }).waitFor()
    expect((await found()).boardFile!.agreed).toBe(null)
  })
})
