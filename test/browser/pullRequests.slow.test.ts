import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { change } from '../../src/domain/forges/pullRequests.ts'
import { readPullRequest } from '../../src/store/forges/pullRequests.ts'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { FakeForge } from '../support/forge/fakeForge.ts'

describe.skipIf(noBrowser !== undefined)('pull requests', () => {
  const visit = visitors()
  let board: AgentBoard
  let forge: FakeForge
  beforeAll(async () => {
    board = await startAgentBoard({
      writes: { protocol: 'command', command: ['sh', '-c', 'echo mine > mine; echo "I put the roof on."'] },
    })
    forge = await FakeForge.start({ kind: 'github', folder: board.folder('forge'), from: board.path })
    execFileSync('git', ['-C', board.path, 'config', 'remote.origin.url', forge.cloneUrl])
    const { id } = await board.client.credentials.create({
      name: 'Forge',
      provider: 'github',
      apiKey: forge.token,
      baseUrl: forge.url,
    })
    await board.client.projects.update({ id: board.projectId, forge: { credentialId: id } })
  })
  afterAll(async () => {
    await forge.close()
    await board.close()
  })

  const worked = async (title: string) =>
    (await board.untilStatus((await board.start('writes', { title })).id, 'completed')).id
  const place = (cardId: string) => ({ projectId: board.projectId, cardId })
  const at = (cardId: string) => `#/projects/${board.projectId}/cards/${cardId}/changes`

  test('a pull request is opened, followed and merged at the card, and its tile shows its state', async () => {
    const id = await worked('Put a roof on')
    const { page, axeViolations } = await visit(board, { at: at(id) })
    const panel = page.getByRole('region', { name: 'Pull request' })
    await panel.getByRole('button', { name: 'Open pull request…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Open pull request' })
    expect(await dialog.getByLabel('Title').inputValue()).toBe('Put a roof on')
    expect(await dialog.getByLabel('Body').inputValue()).toContain('I put the roof on.')
    await dialog.getByLabel('Title').fill('A <b>roof</b>')
    await dialog.getByLabel('Reviewers').fill('ann, bob')
    expect(await axeViolations()).toEqual([])
    await dialog.getByRole('button', { name: 'Open', exact: true }).click()
    const link = panel.getByRole('link', { name: '#1 A <b>roof</b>' })
    await link.waitFor()
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer')
    expect(forge.pull().reviewers).toEqual(['ann', 'bob'])
    const commit = forge.pull().headSha
    forge.setCheck(commit, 'build', 'failure', undefined, { kind: 'status', url: 'javascript:alert(1)' })
    forge.review(1, 'ann', 'changes_requested', [], 'No')
    await panel.getByRole('button', { name: 'Merge…' }).click()
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    const ask = page.getByRole('alertdialog', { name: 'Merge #1?' })
    await ask.getByText(/these checks failed: build; changes were requested by ann/).waitFor()
    await ask.getByRole('button', { name: 'Cancel' }).click()
    await panel.getByRole('list', { name: 'Checks' }).getByText('failure').waitFor()
    expect(await panel.getByRole('link', { name: 'build' }).count()).toBe(0)
    await panel.getByRole('list', { name: 'Reviews' }).getByText('requests changes').waitFor()
    expect(await axeViolations()).toEqual([])
    await panel.getByRole('checkbox', { name: 'Auto-merge' }).check()
    await expect.poll(async () => (await board.client.pullRequests.get(place(id))).autoMerge).toBe(true)
    const tiles = await visit(board, { at: `#/projects/${board.projectId}` })
    await tiles.page.getByRole('img', { name: '#1 open, checks failed, changes requested' }).waitFor()
    await board.client.pullRequests.merge({ ...place(id), force: true })
    await panel.getByText('merged', { exact: true }).waitFor()
    await tiles.page.getByRole('img', { name: '#1 merged' }).waitFor()
    expect(await tiles.axeViolations()).toEqual([])
  })

  test('a waiting pull request is resumed by a button that states the cost, and edited with the text on the forge', async () => {
    const id = await worked('Waiting')
    await board.client.pullRequests.create(place(id))
    const { db } = board.server.app
    const row = (await readPullRequest(db, Number(id)))!
    await db.transaction(tx =>
      change(tx, row, { stopped: 'The agent has worked on it 5 times without success.', rounds: 5 }),
    )
    const { page, axeViolations } = await visit(board, { at: at(id) })
    const panel = page.getByRole('region', { name: 'Pull request' })
    await panel.getByText('Needs a person: The agent has worked on it 5 times without success.').waitFor()
    expect(await page.getByRole('link', { name: `Pull request #${row.number} open` }).getAttribute('href')).toBe(
      row.url,
    )
    await panel.getByRole('button', { name: 'Resume…' }).click()
    const ask = page.getByRole('alertdialog', { name: `Resume #${row.number}?` })
    await ask.getByText(/with your permissions and uses tokens\. It can work on the feedback up to 5 times/).waitFor()
    expect(await axeViolations()).toEqual([])
    await ask.getByRole('button', { name: 'Resume', exact: true }).click()
    await ask.waitFor({ state: 'detached' })
    await panel.getByText('Needs a person').waitFor({ state: 'detached' })
    expect(await board.client.pullRequests.get(place(id))).toMatchObject({ stopped: null, rounds: 0 })

    await panel.getByRole('button', { name: 'Edit…' }).click()
    const dialog = page.getByRole('dialog', { name: `Edit #${row.number}` })
    expect(await dialog.getByLabel('Body').inputValue()).toBe(forge.pull().body)
    await dialog.getByLabel('Title').fill('Better')
    await dialog.getByLabel('Reviewers').fill('ann, bob')
    await dialog.getByLabel('Labels').fill('roof, to be looked at')
    await dialog.getByLabel('As a draft').check()
    expect(await axeViolations()).toEqual([])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await panel.getByRole('link', { name: `#${row.number} Better` }).waitFor()
    expect(forge.pull()).toMatchObject({ reviewers: ['ann', 'bob'], labels: ['roof', 'to be looked at'] })
    await panel.getByRole('button', { name: 'Edit…' }).click()
    expect(await dialog.getByLabel('Labels').inputValue()).toBe('roof, to be looked at')
    await dialog.getByLabel('Reviewers').fill('bob, nobody')
    await dialog.getByLabel('Labels').fill('to be looked at')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText(/is not a collaborator of the repository/).waitFor()
    expect(forge.pull()).toMatchObject({ reviewers: ['bob'], labels: ['to be looked at'] })
    await panel.getByText('draft', { exact: true }).waitFor()
    expect(forge.pull()).toMatchObject({ title: 'Better', draft: true })
    await board.client.pullRequests.close(place(id))
  })

  test('issues are connected in the settings, and their cards link to them', async () => {
    const settings = await visit(board, { at: `#/projects/${board.projectId}/settings/forge` })
    await settings.page.getByLabel('Label of issues that become cards').fill('board')
    forge.openIssue({ title: 'The door squeaks', labels: ['board'] })
    await settings.page.getByRole('button', { name: 'Save forge' }).click()
    await settings.page.getByRole('heading', { name: 'Issues' }).waitFor()
    await settings.page.getByRole('button', { name: 'Sync now' }).click()
    await settings.page.getByText(/Last synchronized:/).waitFor()
    const { items } = await board.client.issues.list({ projectId: board.projectId })
    expect(items).toMatchObject([{ title: 'The door squeaks', state: 'open' }])
    expect(await settings.axeViolations()).toEqual([])
    const { page, axeViolations } = await visit(board, {
      at: `#/projects/${board.projectId}/cards/${items[0]!.cardId}`,
    })
    const link = page.getByRole('link', { name: `Issue ${items[0]!.number}` })
    expect(await link.getAttribute('href')).toBe(items[0]!.url)
    expect(await axeViolations()).toEqual([])

    await settings.page.getByRole('button', { name: 'New secret…' }).click()
    await settings.page.getByRole('button', { name: 'Create', exact: true }).click()
    const shown = settings.page.getByRole('dialog', { name: 'Forge webhook' })
    await shown.getByText(`/api/forge-webhooks/${board.projectId}`).waitFor()
    const secret = await shown.getByLabel('Secret', { exact: true }).inputValue()
    expect(secret.length).toBeGreaterThan(20)
    expect(await settings.axeViolations()).toEqual([])
  })

  test('a pull request is closed, and a viewer has no actions', async () => {
    const id = await worked('Second')
    await board.client.pullRequests.create(place(id))
    const { page } = await visit(board, { at: at(id) })
    const panel = page.getByRole('region', { name: 'Pull request' })
    await panel.getByRole('button', { name: 'Close…' }).click()
    await page.getByRole('button', { name: 'Close pull request' }).click()
    await panel.getByText('closed', { exact: true }).waitFor()
    await panel.getByRole('button', { name: 'Open another pull request…' }).waitFor()
    expect(forge.pull().state).toBe('closed')
  })
})
