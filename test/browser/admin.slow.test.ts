import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { noBrowser, visitors, type Visited } from '../support/browsers/browser.ts'
import { choose } from '../support/browsers/choose.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

describe.skipIf(noBrowser !== undefined)('administration', () => {
  const visit = visitors()
  let board: TestBoard
  let ada: Visited
  beforeEach(async () => {
    board = await startBoard()
    const { token } = await board.client.auth.setup({
      email: 'ada@example.org',
      password: 'correct horse',
      displayName: 'Ada',
    })
    ada = { url: board.url, token }
  })
  afterEach(() => board.close())

  test('creates an account with a password that is shown once, changes its role and deletes it after its email is typed', async () => {
    const { page, axeViolations } = await visit(ada, { at: '#/admin/users' })
    await page.getByRole('button', { name: 'New user' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Bob')
    await page.getByLabel('Email', { exact: true }).fill('bob@example.org')
    await page.getByRole('button', { name: 'Create' }).click()
    const password = await page.getByRole('dialog').getByLabel('Password', { exact: true }).inputValue()
    expect((await board.client.auth.login({ email: 'bob@example.org', password })).user.displayName).toBe('Bob')
    await page.getByRole('button', { name: 'I have copied it' }).click()
    expect(await axeViolations()).toEqual([])

    await choose(page.getByRole('combobox', { name: 'Role of bob@example.org' }), 'Admin')
    await eventually('the role', async () => (await listed('bob@example.org'))?.role === 'admin')
    await page.getByRole('button', { name: 'Actions for bob@example.org' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByLabel('Type bob@example.org').fill('bob')
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alert').getByText('Type bob@example.org to confirm.').waitFor()
    await page.getByLabel('Type bob@example.org').fill('bob@example.org')
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Deleted bob@example.org.').waitFor()
    expect(await listed('bob@example.org')).toBeUndefined()
  })

  const listed = async (email: string) =>
    (await board.as(ada.token).users.list()).users.find(user => user.email === email)

  test('an organization gets a member who is found by name, gives its projects a credential, and is exported', async () => {
    const client = board.as(ada.token)
    await client.users.create({ email: 'bob@example.org', name: 'Bob', role: 'user' })
    const { id } = await client.organizations.create({ name: 'Shop' })
    const credential = await client.credentials.create({
      name: 'mine',
      provider: 'anthropic',
      apiKey: 'sk-ant-1234567890',
    })
    const { page, axeViolations } = await visit(ada, { at: '#/admin/organizations' })
    const shop = page.getByRole('region', { name: 'Shop' })
    await shop.getByRole('button', { name: 'New member' }).click()
    const dialog = page.getByRole('dialog', { name: 'New member' })
    await dialog.getByLabel('Email of a user').fill('bob@ex')
    await dialog.locator('datalist option[value="bob@example.org"]').waitFor({ state: 'attached' })
    await dialog.getByLabel('Email of a user').fill('bob@example.org')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await shop.getByRole('combobox', { name: 'Role of bob@example.org' }).waitFor()
    await choose(shop.getByLabel('Credential of the projects'), 'mine')
    await page.getByText('The organization’s projects now use the selected credential.').waitFor()
    expect((await client.organizations.get({ id })).defaultCredentialId).toBe(credential.id)
    expect(await axeViolations()).toEqual([])
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      shop.getByRole('button', { name: 'Export Shop with its projects' }).click(),
    ])
    expect(readFileSync((await download.path())!, 'utf8')).toContain('Shop')
  })

  test('organizations with the same name are shown with their IDs', async () => {
    const client = board.as(ada.token)
    const [first, second] = [
      await client.organizations.create({ name: 'Twin' }),
      await client.organizations.create({ name: 'Twin' }),
    ]
    await client.organizations.create({ name: 'Only' })
    const { id: projectId } = await client.projects.create({ name: 'twins', path: board.folder('twins') })
    const { page } = await visit(ada, { at: '#/admin/organizations' })
    for (const { id } of [first, second]) {
      const panel = page.getByRole('region', { name: `Twin (#${id})`, exact: true })
      await panel.getByRole('heading', { name: `Twin (#${id})` }).waitFor()
      await panel.getByRole('button', { name: `Delete Twin (#${id})` }).waitFor()
    }
    await page.getByRole('region', { name: 'Only', exact: true }).waitFor()
    const general = await visit(ada, { at: `#/projects/${projectId}/settings/general` })
    await general.page.getByRole('combobox', { name: 'Organization' }).click()
    const offered = general.page.getByRole('option')
    await offered.filter({ hasText: `Twin (#${second.id})` }).waitFor()
    const names = await offered.allTextContents()
    expect(names).toEqual(expect.arrayContaining([`Twin (#${first.id})`, `Twin (#${second.id})`, 'Only']))
    await client.projects.delete({ id: projectId })
    for (const { id } of [first, second]) await client.organizations.delete({ id })
  })

  test('creates a backup, and restores it after its name is typed', async () => {
    const client = board.as(ada.token)
    const { id: projectId } = await client.projects.create({ name: 'work', path: board.folder('work') })
    const { page, axeViolations } = await visit(ada, { at: '#/admin/backups' })
    await page.getByRole('button', { name: 'Create backup' }).click()
    await page.getByText('Created and verified').waitFor()
    const { filename } = (await client.backups.list())[0]!
    expect(await axeViolations()).toEqual([])
    await client.cards.create({ projectId, title: 'Later' })
    await client.projects.create({ name: 'later', path: board.folder('later') })

    await page.getByRole('button', { name: `Actions for ${filename}` }).click()
    await page.getByRole('menuitem', { name: 'Restore…' }).click()
    await page.getByLabel(`Type ${filename}`).fill(filename)
    await page.getByRole('button', { name: 'Restore' }).click()
    const dialog = page.getByRole('dialog', { name: `Restore ${filename}` })
    await dialog.getByText('Verify the backup').waitFor()
    await dialog.getByText('Restored the backup. The previous data is in').waitFor()
    expect(await axeViolations()).toEqual([])
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('list', { name: 'Backups' }).getByText('before a restore').waitFor()
    await page.getByRole('navigation', { name: 'Projects' }).getByRole('link', { name: 'work' }).waitFor()
    await eventually(
      'the later project is deleted',
      async () => (await page.getByRole('link', { name: 'later', exact: true }).count()) === 0,
    )
    expect(await board.client.cards.list({ projectId })).toEqual([])
  })

  test('a restore ends the sign-ins of all other users, who sign in again above the page, which then reloads its data', async () => {
    const client = board.as(ada.token)
    const { id: projectId } = await client.projects.create({ name: 'work', path: board.folder('work') })
    await client.cards.create({ projectId, title: 'Earlier' })
    const { filename } = await client.backups.create({ withKey: false })
    await client.projects.create({ name: 'later', path: board.folder('later') })
    await client.cards.create({ projectId, title: 'Later' })
    const { page } = await visit(ada, { at: `#/projects/${projectId}` })
    await page.getByRole('link', { name: 'later', exact: true }).waitFor()
    await page.getByText('Later', { exact: true }).waitFor()
    await client.backups.restore({ filename })

    const dialog = page.getByRole('dialog', { name: 'Your sign-in has expired' })
    await dialog.getByLabel('Email').fill('ada@example.org')
    await dialog.getByLabel('Password').fill('correct horse')
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('Earlier', { exact: true }).waitFor()
    await page.getByText('Later', { exact: true }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'later', exact: true }).waitFor({ state: 'detached' })
    // Later changes are shown live as before.
    await client.cards.create({ projectId, title: 'After it' })
    await page.getByText('After it', { exact: true }).waitFor()
  })

  test('a restore of a backup without accounts asks for the first account above the page, and continues', async () => {
    const bare = await startBoard()
    try {
      const { id: projectId } = await bare.client.projects.create({ name: 'work', path: bare.folder('work') })
      await bare.client.cards.create({ projectId, title: 'Earlier' })
      const { filename } = await bare.client.backups.create({ withKey: false })
      const ada = { email: 'ada@example.org', password: 'correct horse', displayName: 'Ada' }
      const { token } = await bare.client.auth.setup(ada)
      await bare.client.cards.create({ projectId, title: 'Later' })
      const { page, axeViolations } = await visit({ url: bare.url, token }, { at: `#/projects/${projectId}` })
      await page.getByText('Later', { exact: true }).waitFor()
      await bare.client.backups.restore({ filename })

      const dialog = page.getByRole('dialog', { name: 'Your sign-in has expired' })
      await dialog.getByText('This server has no accounts yet.').waitFor()
      expect(await axeViolations()).toEqual([])
      await dialog.getByLabel('Name', { exact: true }).fill('Ada')
      await dialog.getByLabel('Email').fill(ada.email)
      await dialog.getByLabel('Password').fill(ada.password)
      await dialog.getByRole('button', { name: 'Create account' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.getByText('Earlier', { exact: true }).waitFor()
      await page.getByText('Later', { exact: true }).waitFor({ state: 'detached' })
      expect((await bare.client.users.list()).users.map(({ email }) => email)).toEqual([ada.email])
    } finally {
      await bare.close()
    }
  })

  test('follows the log, and finds all entries of a request', async () => {
    const { page, axeViolations } = await visit(ada, { at: '#/admin/logs' })
    const entries = page.getByRole('list', { name: 'Log entries' })
    await entries.waitFor()
    await board.as(ada.token).projects.create({ name: 'work', path: board.folder('work') })
    const made = entries.getByRole('listitem').filter({ hasText: 'POST /api/projects 201' })
    await made.waitFor()
    expect(await axeViolations()).toEqual([])
    await made.getByRole('button', { name: /Show only request/ }).click()
    await eventually('one entry alone', async () => (await entries.getByRole('listitem').count()) === 1)
    await made.waitFor()
  })

  test('an administrator is not offered actions of a super administrator', async () => {
    const { generatedPassword: password } = await board
      .as(ada.token)
      .users.create({ email: 'eve@example.org', name: 'Eve', role: 'admin' })
    const { token } = await board.client.auth.login({ email: 'eve@example.org', password })
    const { page, settled } = await visit({ url: board.url, token }, { at: '#/admin' })
    const sections = page.getByRole('navigation', { name: 'Administration' }).getByRole('link')
    await sections.first().waitFor()
    await settled()
    expect(await sections.allTextContents()).toEqual([
      'Users',
      'Organizations',
      'Agents',
      'Agent profiles',
      'Context relay',
      'Log',
      'Daemons',
    ])
    await page.getByRole('list', { name: 'Users' }).getByText('ada@example.org').first().waitFor()
    expect(await page.getByRole('button', { name: 'Actions for ada@example.org' }).count()).toBe(0)
  })

  test('records the pressed keys of a shortcut, names the action that loses them, and resets to the defaults', async () => {
    const { page, axeViolations } = await visit(ada, { at: '#/me/shortcuts' })
    const client = board.as(ada.token)
    await page.getByRole('button', { name: 'Change keys: add a card' }).click()
    const field = page.getByLabel('Press one key, or two keys in sequence')
    await field.press('j')
    await page
      .getByRole('alert')
      .getByText('j is already used for: go down. The key is removed from that action')
      .waitFor()
    expect(await axeViolations()).toEqual([])
    await page.getByRole('button', { name: 'Replace keys' }).click()
    await page.getByRole('button', { name: 'Reset keys: add a card' }).waitFor()
    expect(await client.settings.getShortcuts()).toMatchObject({ add: 'j', down: 'down' })
    await page.getByRole('button', { name: 'Reset all' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Reset all' }).click()
    // The page behind a dialog has no buttons for assistive technology.
    await page.getByRole('alertdialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Reset keys: add a card' }).waitFor({ state: 'detached' })
    expect(await client.settings.getShortcuts()).toMatchObject({ add: 'n', down: 'j,down' })
  })
})
