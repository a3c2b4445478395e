import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { actOn } from '../support/browsers/actOn.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { choose } from '../support/browsers/choose.ts'
import { startCredentialProvider } from '../support/identity/fakeCredentialProvider.ts'
import { startBoardWithProject, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noBrowser !== undefined)('the tools of a project', () => {
  const visit = visitors()
  let board: TestBoard
  let projectId: string
  beforeEach(async () => {
    ;({ board, projectId } = await startBoardWithProject())
  })
  afterEach(() => board.close())

  const at = (section: string) => `#/projects/${projectId}/settings/${section}`

  test('a monitor is added after its rights are acknowledged, reports its result live, and is removed', async () => {
    const columns = await board.client.columns.list({ projectId })
    const { id: columnId } = columns.find(({ columnType }) => columnType === 'active')!
    await board.client.cards.create({ projectId, title: 'Watched', columnId, deferred: true })
    const { page } = await visit(board, { at: at('monitors') })
    await page.getByRole('button', { name: 'New monitor' }).click()
    const dialog = page.getByRole('dialog', { name: 'New monitor' })
    await choose(dialog.getByLabel('Card'), 'Watched')
    await dialog.getByLabel('Command').fill('echo "<b>sick</b>"; exit 3')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByText('To add the monitor, allow the command').waitFor()
    await dialog.getByLabel('Run without a sandbox').check()
    await dialog.getByRole('button', { name: 'Create' }).click()
    const row = page.getByRole('list', { name: 'Monitors' }).getByRole('listitem')
    await row.getByText('exit code 3').waitFor()
    await row.getByText('Latest output').click()
    await row.getByText('<b>sick</b>', { exact: true }).waitFor()
    await actOn(page, /^Actions for echo/, 'Remove')
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('No monitors.').waitFor()
  })

  test('a device sign-in shows its code and page, reports its completion, and the project uses it', async () => {
    const provider = await startCredentialProvider()
    try {
      const { page } = await visit(board, { at: at('credentials') })
      await page.getByRole('button', { name: 'Sign in with a device code' }).click()
      await choose(page.getByLabel('Provider'), 'other, with a base URL')
      await page.getByLabel('Name').fill('mine')
      await page.getByText('Custom application').click()
      await page.getByLabel('Base URL').fill(provider.url)
      await page.getByLabel('Client ID').fill('client')
      await page.getByRole('button', { name: 'Get a code' }).click()
      expect(await page.getByLabel('Code', { exact: true }).inputValue()).toBe('WDJB-MJHT')
      await page.getByRole('link', { name: `${provider.url}/activate` }).waitFor()
      provider.outcome = { access_token: 'access', refresh_token: 'refresh', expires_in: 3600 }
      await page.getByRole('paragraph').getByText('You are signed in.').waitFor()
      await page.getByRole('button', { name: 'Done' }).click()
      await actOn(page, 'mine', 'Use in project')
      await page.getByText('used by this project').waitFor()
      const [credential] = await board.client.credentials.list()
      expect((await board.client.projects.get({ id: projectId })).credentialId).toBe(credential!.id)
    } finally {
      await provider.close()
    }
  })

  test('a key of a provider is stored with its headers and models, and never returned', async () => {
    const { page } = await visit(board, { at: at('credentials') })
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByLabel('Name').fill('gateway')
    await choose(page.getByLabel('Provider'), 'other, with a base URL')
    await page.getByLabel('Key', { exact: true }).fill('sk-canary')
    await page.getByLabel('Base URL').fill('https://models.example.org')
    await page.getByLabel('Headers').fill('X-Team: blue')
    await page.getByLabel('Models').fill('one\ntwo')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('list', { name: 'Credentials' }).getByText('headers X-Team · one, two').waitFor()
    await actOn(page, 'gateway', 'Usage')
    await page
      .getByRole('dialog', { name: 'Usage of gateway' })
      .getByText('No agent has used this credential yet.')
      .waitFor()
    await page.reload()
    await actOn(page, 'gateway', 'Edit')
    expect(await page.getByLabel('Key', { exact: true }).inputValue()).toBe('')
    expect(await page.content()).not.toMatch(/sk-canary|blue/)
  })

  test('the settings for agent questions are saved, and an error is shown at its field', async () => {
    const { page } = await visit(board, { at: at('agents') })
    await choose(page.getByLabel('Default answer'), 'refuse')
    await page.getByLabel('Always allow these commands').fill('git status\nls; rm')
    await page.getByRole('button', { name: 'Save answers' }).click()
    await page.getByText('must be a command prefix of plain words, without shell operators').first().waitFor()
    await page.getByLabel('Always allow these commands').fill('git status\nls')
    await page.getByRole('button', { name: 'Save answers' }).click()
    await page.getByText('Saved the answers to questions from agents.').waitFor()
    await choose(page.getByLabel('Action'), 'continue with the next agent in a list')
    await page.getByRole('button', { name: 'Add agent' }).click()
    await choose(page.getByLabel('Agent 1'), /Claude Code/)
    await page.getByRole('button', { name: 'Save limit', exact: true }).click()
    await page.getByText('Saved the action at a usage limit.').waitFor()
    await choose(page.getByLabel('A silent agent'), 'is stopped: the card fails')
    await page.getByRole('button', { name: 'Save silence action' }).click()
    await page.getByText('Saved the action for silent agents.').waitFor()
    const { approvalPolicy, usageLimits, onSilence } = await board.client.projects.get({ id: projectId })
    expect(approvalPolicy).toEqual({ default: 'refuse', allow: ['git status', 'ls'], refuse: [] })
    expect(usageLimits).toMatchObject({ onLimit: 'next', next: [{ profile: null, credentialId: null }] })
    expect(onSilence).toBe('end')
  })

  test("a template is created from a board's columns, changed and deleted", async () => {
    const { page } = await visit(board, { at: at('templates') })
    await page.getByRole('button', { name: /^From board/ }).click()
    const dialog = page.getByRole('dialog', { name: 'New template' })
    await dialog.getByLabel('Name').fill('Ours')
    await dialog.getByRole('button', { name: 'Add column' }).click()
    await dialog.getByLabel('Column 4', { exact: true }).fill('Shipped')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('listitem').filter({ hasText: 'Ours' }).getByText('→ Shipped').waitFor()
    await actOn(page, 'Ours', 'Delete')
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('listitem').filter({ hasText: 'Ours' }).waitFor({ state: 'detached' })
  })

  test('charts show the values of their tables', async () => {
    const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10)
    const [today, yesterday] = [dayOf(Date.now()), dayOf(Date.now() - 86_400_000)]
    for (const title of ['One', 'Two']) await board.client.cards.create({ projectId, title })
    await board.server.app.db.transaction(async tx => {
      await tx.run("UPDATE cards SET status = 'failed' WHERE title = 'One'")
      await tx.run('INSERT INTO project_days VALUES (?, ?, 1, 0, 0, 0, ?)', [
        Number(projectId),
        yesterday,
        '{"idle":1}',
      ])
    })
    const { page } = await visit(board, { at: `#/projects/${projectId}/charts` })
    await page.getByRole('img', { name: 'Cards by day. Last: done 0, active 0, backlog 2, archived 0' }).waitFor()
    await page.getByText('Cards by day as a table').click()
    const table = page.getByRole('region', { name: 'Cards by day, table' })
    await table.getByRole('row', { name: `${today} 0 0 2 0` }).waitFor()
    await page.getByRole('img', { name: 'Cards by status. Last: failed 1, idle 1' }).waitFor()
    await page.getByText('Cards by status as a table').click()
    const statuses = page.getByRole('region', { name: 'Cards by status, table' })
    await statuses.getByRole('row', { name: `${today} 1 1` }).waitFor()
    await statuses.getByRole('row', { name: `${yesterday} 0 1` }).waitFor()
    await page.getByText(`Recorded since ${yesterday}. Earlier days are unknown.`).waitFor()
    await choose(page.getByLabel('Period'), '90 days')
    await page.getByText('No agent has run in this period.').waitFor()
  })
})
