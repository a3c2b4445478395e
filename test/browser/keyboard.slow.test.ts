import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { change } from '../../src/domain/forges/pullRequests.ts'
import { readPullRequest } from '../../src/store/forges/pullRequests.ts'
import { makeRepository, startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { keyboardOf } from '../support/browsers/keyboard.ts'
import { FakeForge } from '../support/forge/fakeForge.ts'
import { connectedApp, redirectUri } from '../support/identity/connectedApp.ts'

describe.skipIf(noBrowser !== undefined)('without a mouse', () => {
  const visit = visitors()
  let board: AgentBoard
  let forge: FakeForge
  beforeAll(async () => {
    board = await startAgentBoard({ writes: { protocol: 'command', command: ['sh', '-c', 'echo mine > mine'] } })
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

  const openedAt = async (at: string, elsewhere?: string) => {
    const { page, settled } = await visit(board, { at, elsewhere })
    await settled()
    const dialog = (name: string) =>
      page.getByRole(name.endsWith('?') || name.startsWith('Revoke ') ? 'alertdialog' : 'dialog', { name }).waitFor()
    const keyboard = keyboardOf(page)
    return {
      ...keyboard,
      page,
      dialog,
      /** Opens a dialog, by a button or the first action of its menu, closes it with Escape, and opens it again: the focus returns to its previous element. */
      ask: async (button: RegExp, name: string, firstAction?: string) => {
        for (const key of ['Escape', undefined]) {
          await keyboard.press(button)
          if (firstAction !== undefined) {
            await page.getByRole('menuitem', { name: firstAction }).and(page.locator(':focus')).waitFor()
            await page.keyboard.press('Enter')
          }
          await dialog(name)
          await expect.poll(keyboard.focusedIn).toBe(name)
          if (key === undefined) continue
          await page.keyboard.press(key)
          await expect.poll(keyboard.focused).toMatch(button)
        }
      },
      said: async (text: string) => {
        await expect.poll(() => page.locator('.spoken').textContent()).toContain(text)
      },
    }
  }
  const focusIsIn = async (focusedIn: () => Promise<string>, part: string) => {
    await expect.poll(focusedIn).toBe(part)
  }

  test('a pull request is opened, edited, continued, closed, reopened and merged', async () => {
    const { id } = await board.untilStatus((await board.start('writes', { title: 'Put a roof on' })).id, 'completed')
    const place = { projectId: board.projectId, cardId: id }
    const { page, press, ask, dialog, said, tabTo, focused, focusedIn } = await openedAt(
      `#/projects/${board.projectId}/cards/${id}/changes`,
    )
    const panel = page.getByRole('region', { name: 'Pull request' })
    await ask(/^Open pull request…/, 'Open pull request')
    expect(await focused()).toBe('Title')
    await press(/^As a draft/, 'Space')
    await press(/^Open$/)
    await panel.getByText('draft', { exact: true }).waitFor()
    await focusIsIn(focusedIn, 'Pull request')
    await said('#1 draft')
    await press(/^Ready for review/)
    await said('#1 open')
    await focusIsIn(focusedIn, 'Pull request')

    await ask(/^Edit…/, 'Edit #1')
    await page.keyboard.press('End')
    await page.keyboard.type(' soon')
    await press(/^Save/)
    await panel.getByRole('link', { name: '#1 Put a roof on soon' }).waitFor()
    await said('Updated #1.')
    await expect.poll(focused).toBe('Edit…')

    await stop(place.cardId)
    await panel.getByText('Needs a person').waitFor()
    await tabTo(/^Resume…/, { back: true })
    await ask(/^Resume…/, 'Resume #1?')
    await press(/^Resume$/)
    await said('Resumed #1.')
    await focusIsIn(focusedIn, 'Pull request')

    await ask(/^Close…/, 'Close #1?')
    await press(/^Close pull request$/)
    await said('#1 closed')
    await focusIsIn(focusedIn, 'Pull request')
    await press(/^Open another pull request…/)
    await dialog('Open pull request')
    await press(/^Open$/)
    await said('#2 open')
    await focusIsIn(focusedIn, 'Pull request')
    await press(/^Merge method/, 'ArrowDown')
    await ask(/^Merge…/, 'Merge #2?')
    await press(/^Merge$/)
    await said('#2 merged')
    await focusIsIn(focusedIn, 'Pull request')
    expect(forge.pull()).toMatchObject({ number: 2, state: 'merged' })
  })

  const stop = async (cardId: string) => {
    const { db } = board.server.app
    const row = (await readPullRequest(db, Number(cardId)))!
    await db.transaction(tx =>
      change(tx, row, { stopped: 'The agent has worked on it 5 times without success.', rounds: 5 }),
    )
  }

  test('the forge is configured, its issues are imported, and a secret survives an accidental key press', async () => {
    const { page, press, ask, focused, focusedIn, dialog, tabTo } = await openedAt(settings('forge'))
    await tabTo(/^Label of issues that become cards/)
    await page.keyboard.type('board')
    await press(/^Save forge/)
    await page.getByRole('heading', { name: 'Issues' }).waitFor()
    expect(await focused()).toBe('Save forge')
    await tabTo(/^Sync now/, { back: true })
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('0 new cards, 0 issues closed.').waitFor()
    expect(await focused()).toBe('Sync now')
    await ask(/^New secret…/, 'Create a webhook secret?')
    await press(/^Create$/)
    await dialog('Forge webhook')
    await expect.poll(focused).toBe('Secret')
    for (let times = 0; times < 3; times++) await page.keyboard.press('Escape')
    await focusIsIn(focusedIn, 'Forge webhook')
    await press(/^I have copied it/)
    await expect.poll(focused).toBe('New secret…')
  })

  test('a repository is added and removed', async () => {
    const lib = makeRepository(board.folder('lib'))
    const { page, press, ask, dialog, focused, focusedIn, said, tabTo } = await openedAt(settings('general'))
    await press(/^New repository/)
    await dialog('New repository')
    await expect.poll(focused).toBe('Repository name')
    await page.keyboard.type('lib')
    await tabTo(/^Repository folder/)
    await page.keyboard.type(lib)
    await page.keyboard.press('Enter')
    const actions = page.getByRole('button', { name: 'Actions for lib' })
    await actions.waitFor()
    await ask(/^Actions for lib/, 'Remove lib?', 'Remove…')
    await press(/^Remove$/)
    await said('Removed lib.')
    expect(await actions.count()).toBe(0)
    await focusIsIn(focusedIn, 'Other repositories')
  })

  test('an app is authorized, and revoked in the list of keys', async () => {
    const opens = 'com.example.probe:/callback'
    const app = await connectedApp(board, { client_name: 'Probe', redirect_uris: [opens, redirectUri] })
    const request = await app.request({ redirect_uri: opens })
    const { press, focusedIn, said } = await openedAt(`#/connect/${request}`, opens)
    await press(/^Access$/, 'ArrowDown')
    await press(/^Allow/)
    await said('Sent your answer to the app.')
    await focusIsIn(focusedIn, 'Connect an app')
    await app.connect(board.token)
    const keys = await openedAt('#/me/keys')
    await keys.ask(/^Actions for Probe/, 'Revoke Probe', 'Revoke…')
    await keys.press(/^Revoke$/)
    await keys.said('Revoked Probe.')
    await focusIsIn(keys.focusedIn, 'API keys')
  })

  const settings = (section: string) => `#/projects/${board.projectId}/settings/${section}`
})
