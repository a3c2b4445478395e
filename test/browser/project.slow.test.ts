import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { actOn, openActions } from '../support/browsers/actOn.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { choose } from '../support/browsers/choose.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startReceiver } from '../support/receivers/webhookReceiver.ts'
import { startBoardWithProject, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noBrowser !== undefined)("a project's settings", () => {
  const visit = visitors()
  let board: TestBoard
  let projectId: string
  beforeEach(async () => {
    ;({ board, projectId } = await startBoardWithProject())
  })
  afterEach(() => board.close())

  const at = (section: string) => `#/projects/${projectId}/settings/${section}`

  test("a key's secret is shown once, works, and is not shown again", async () => {
    const { page } = await visit(board, { at: at('keys') })
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByLabel('Name').fill('reader')
    await page.getByLabel('projects.read').check()
    await page.getByRole('button', { name: 'Create' }).click()
    const dialog = page.getByRole('dialog', { name: 'Key reader' })
    const secret = await dialog.getByLabel('API key', { exact: true }).inputValue()
    expect(await board.as(secret).projects.get({ id: projectId })).toMatchObject({ name: 'work' })
    await dialog.getByRole('button', { name: 'Copy' }).click()
    await page.keyboard.press('Escape')
    await dialog.getByRole('button', { name: 'I have copied it' }).click()
    await page.getByRole('list', { name: 'API keys' }).getByText('reader').waitFor()
    await page.reload()
    await page.getByRole('list', { name: 'API keys' }).getByText('reader').waitFor()
    expect(await page.content()).not.toContain(secret)
    await actOn(page, 'reader', 'Revoke')
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByText('No keys for this project.').waitFor()
    await expect(board.as(secret).projects.get({ id: projectId })).rejects.toMatchObject({ status: 401 })
  })

  test('an invitation is a link that names project, inviter and role, and fills in the address', async () => {
    await board.client.auth.setup({ email: 'ada@example.org', password: 'correct horse', displayName: 'Ada' })
    const { page } = await visit(board, { at: at('members') })
    await page.getByRole('button', { name: 'New member' }).click()
    await page.getByLabel('Email').fill('bob@example.org')
    await choose(page.getByLabel('Role', { exact: true }), /^viewer:/)
    await page.getByRole('button', { name: 'Create' }).click()
    const link = await page.getByLabel('Invitation link', { exact: true }).inputValue()
    expect(link).toMatch(`${board.url}/#/invitation/`)
    await page.getByRole('button', { name: 'I have copied it' }).click()
    await page.getByText('invited as viewer by Ada').waitFor()

    const guest = await visit(board, { isStranger: true, at: link.slice(link.indexOf('#')) })
    await guest.page.getByText('Ada invites you to the project work as viewer.').waitFor()
    expect(await guest.axeViolations()).toEqual([])
    expect(await guest.page.getByLabel('Email').inputValue()).toBe('bob@example.org')
    await guest.page.getByLabel('Password').fill('correct horse')
    await guest.page.getByRole('button', { name: 'Create account' }).click()
    await guest.page.getByRole('link', { name: 'work', exact: true }).first().waitFor()
    expect(await board.client.members.list({ id: projectId })).toMatchObject([
      { email: 'bob@example.org', pending: false },
    ])
    const late = await visit(board, { isStranger: true, at: link.slice(link.indexOf('#')) })
    await late.page.getByText('The invitation was not found.').waitFor()
    await late.page.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  test('a webhook is created and tested, and its deliveries show the responses', async () => {
    const receiver = await startReceiver((_, response) => response.writeHead(418).end('<b>teapot</b>'))
    try {
      const { page } = await visit(board, { at: at('webhooks') })
      await page.getByRole('button', { name: 'New webhook' }).click()
      await page.getByLabel('URL').fill(`${receiver.url}/hook`)
      await page.getByRole('button', { name: 'Create' }).click()
      expect(await page.getByLabel('Signing secret', { exact: true }).inputValue()).toMatch(/^whsec_/)
      await page.getByRole('button', { name: 'I have copied it' }).click()
      await actOn(page, `${receiver.url}/hook`, 'Test')
      const delivery = page
        .getByRole('list', { name: 'Deliveries' })
        .getByRole('listitem')
        .filter({ hasText: 'webhook.test' })
      await delivery.getByText('answered 418').first().waitFor()
      await delivery.getByText('Request and response').click()
      await delivery.getByText('<b>teapot</b>').waitFor()
      expect(receiver.at('/hook')[0]!.message.type).toBe('webhook.test')
    } finally {
      await receiver.close()
    }
  })

  test('the events of a webhook are selected in groups, all at once, or not at all', async () => {
    const { page, axeViolations, settled } = await visit(board, { at: at('webhooks') })
    await page.getByRole('button', { name: 'New webhook' }).click()
    const dialog = page.getByRole('dialog', { name: 'New webhook' })
    await dialog.getByLabel('URL').fill('http://127.0.0.1:9/hook')
    await dialog.getByRole('button', { name: 'Events: none' }).click()
    await dialog
      .getByText(/^0 of [1-9]\d+$/)
      .first()
      .waitFor()
    await dialog.getByRole('checkbox', { name: 'Budgets' }).check()
    const cards = dialog.getByRole('checkbox', { name: 'Cards and comments' })
    await dialog.getByRole('button', { name: 'Show Cards and comments' }).focus()
    await page.keyboard.press('Enter')
    await dialog.getByRole('checkbox', { name: 'card.moved' }).check()
    await dialog.getByRole('checkbox', { name: 'card.viewed' }).check()
    await dialog.getByRole('checkbox', { name: 'card.viewed' }).uncheck()
    await cards.and(page.locator(':indeterminate')).waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('button', { name: 'I have copied it' }).click()
    const events = async () => (await board.client.webhooks.list({ projectId }))[0]!.events.toSorted()
    const budgets = ['budget.created', 'budget.deleted', 'budget.exhausted', 'budget.updated', 'budget.warned']
    expect(await events()).toEqual([...budgets, 'card.moved'])
    await page.getByText('budget.created, budget.updated, budget.deleted and 3 other events').waitFor()
    await actOn(page, 'http://127.0.0.1:9/hook', 'Edit')
    await page.getByRole('dialog').getByRole('button', { name: 'Events: all' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('every event').waitFor()
    await eventually('all events', async () => (await events()).length > 50)
  })

  test("a script's output is shown as text while it runs; it is stopped, and all users see its end", async () => {
    const { page } = await visit(board, { at: at('scripts') })
    await page.getByRole('button', { name: 'New script' }).click()
    await page.getByLabel('Name').fill('talk')
    const command = String.raw`printf '\033[31mred\033[0m <i>mark</i> \033]0;title\007\n'; read line < go; echo more; sleep 600`
    await page.getByLabel('Shell command').fill(command)
    await page.getByRole('button', { name: 'Create' }).click()
    const { path } = await board.client.projects.get({ id: projectId })
    execFileSync('mkfifo', [`${path}/go`])
    await page.getByRole('button', { name: 'Run talk' }).click()
    const output = page.getByRole('region', { name: 'Output of talk' })
    await output.getByText('red <i>mark</i> ␛]0;title␇').waitFor()
    execFileSync('sh', ['-c', `echo > '${path}/go'`])
    await output.getByText('more').waitFor()
    const other = await visit(board, { at: at('scripts') })
    await other.page.getByRole('region', { name: 'Output of talk' }).getByText('more').waitFor()
    await page.getByRole('button', { name: 'Stop talk' }).click()
    await page.getByText('cancelled', { exact: true }).waitFor()
    await other.page.getByText('cancelled', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Run talk' }).waitFor()
  })

  test('an import shows a preview before it changes the board, and an export downloads a file', async () => {
    const { page } = await visit(board, { at: at('transfers') })
    const markdown = '# Plans\n\n## Backlog\n\n- [ ] One <img src=x>\n- [ ] Two\n'
    await page
      .getByLabel('File')
      .setInputFiles({ name: 'plans.md', mimeType: 'text/markdown', buffer: Buffer.from(markdown) })
    await page.getByRole('button', { name: 'Dry run' }).click()
    await page.getByRole('region', { name: 'Result of the dry run' }).getByText('2 cards').waitFor()
    expect(await board.client.cards.list({ projectId })).toEqual([])
    await page.getByRole('button', { name: 'Import now' }).click()
    await page.getByRole('region', { name: 'Result of the import' }).getByText('2 cards').waitFor()
    const titles = (await board.client.cards.list({ projectId })).map(({ title }) => title)
    expect(titles).toEqual(['One <img src=x>', 'Two'])
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ])
    expect(readFileSync((await download.path())!, 'utf8')).toContain('One <img src=x>')
  })

  test('a project is created from a browsed folder, and deleted after its name is typed', async () => {
    execFileSync('git', ['init', '-q', board.folder('repository')])
    const { page } = await visit(board)
    await page.getByRole('button', { name: 'New project' }).click()
    await page.getByLabel('Folder', { exact: true }).fill(board.folder('repository'))
    await page.getByLabel('Name').fill('second')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.waitForURL(/#\/projects\/\d+$/)
    await page.getByRole('link', { name: 'Project settings' }).click()
    await page.getByRole('button', { name: 'Delete project' }).click()
    const dialog = page.getByRole('alertdialog', { name: 'Delete second' })
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByText('Type second to confirm.').waitFor()
    await dialog.getByLabel('Type second').fill('second')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.waitForURL(/#\/$/)
    expect((await board.client.projects.list()).map(({ name }) => name)).toEqual(['work'])
  })

  test('a viewer is offered only permitted actions', async () => {
    await board.client.auth.setup({ email: 'ada@example.org', password: 'correct horse', displayName: 'Ada' })
    const person = { email: 'vera@example.org', password: 'correct horse', displayName: 'Vera' }
    const { token } = await registerConfirmed(board, person)
    await board.client.members.add({ id: projectId, email: person.email, role: 'viewer' })
    await board.client.scripts.create({ projectId, name: 'build', command: 'make' })
    const { page, settled } = await visit({ url: board.url, token }, { at: at('general') })
    await page.getByRole('heading', { name: 'General' }).waitFor()
    await settled()
    const sections = page.getByRole('navigation', { name: 'Settings' }).getByRole('link')
    expect(await sections.allTextContents()).toEqual([
      'General',
      'Budgets and usage',
      'Gates',
      'Forge',
      'Members',
      'API keys',
      'Schedules',
      'Scripts',
      'Monitors',
      'Import and export',
    ])
    const offered = async (section: string, content: string) => {
      await page.goto(`${board.url}/${at(section)}`)
      await settled()
      await page.getByRole('main').getByText(content).first().waitFor()
      return page.locator('.section').getByRole('button').allTextContents()
    }
    expect(await offered('general', 'Your role')).toEqual([])
    expect(await offered('members', 'Vera')).toEqual([''])
    expect(await (await openActions(page, 'Vera')).allTextContents()).toEqual(['Leave…'])
    expect(await offered('scripts', 'make')).toEqual([])
    expect(await offered('monitors', 'No monitors.')).toEqual([])
    expect(await offered('transfers', 'The project as JSON')).toEqual(['Download'])
    expect(await offered('webhooks', 'You don’t have access to this project.')).toEqual([])
  })

  const sections = [
    'general',
    'agents',
    'members',
    'keys',
    'webhooks',
    'gates',
    'scripts',
    'monitors',
    'credentials',
    'templates',
    'transfers',
  ]
  test.each(['light', 'dark'] as const)(
    'has no violations of WCAG 2.2, and neither do the charts (%s)',
    async colorScheme => {
      await board.client.scripts.create({ projectId, name: 'build', command: 'make' })
      const { page, axeViolations, settled } = await visit(board, {
        at: at('general'),
        colorScheme,
        viewport: { width: 360, height: 780 },
      })
      for (const section of sections) {
        await page.goto(`${board.url}/${at(section)}`)
        await settled()
        await page.getByRole('heading', { level: 2 }).first().waitFor()
        expect({ section, axeViolations: await axeViolations() }).toEqual({ section, axeViolations: [] })
      }
      await page.goto(`${board.url}/#/projects/${projectId}/charts`)
      await page.getByRole('img', { name: 'Cards by day' }).waitFor()
      await settled()
      for (const table of await page.getByText('as a table').all()) await table.click()
      expect(await axeViolations()).toEqual([])
    },
  )
})
