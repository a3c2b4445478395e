import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { noBrowser, ticketOf, visitors } from '../support/browsers/browser.ts'
import { startSingleSignOn, type SingleSignOn } from '../support/identity/singleSignOn.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

describe.skipIf(noBrowser !== undefined)('signing in', () => {
  const visit = visitors()
  let board: TestBoard
  beforeEach(async () => {
    board = await startBoard()
  })
  afterEach(() => board.close())

  const login = { email: 'ada@example.org', password: 'correct horse' }
  const person = { ...login, displayName: 'Ada' }

  test('the first account is created on the page, and is then signed in', async () => {
    const { page, axeViolations } = await visit(board, { isStranger: true })
    await page.getByRole('heading', { name: 'Welcome to board' }).waitFor()
    expect(await axeViolations()).toEqual([])
    await page.getByLabel('Name').fill('Ada')
    await page.getByLabel('Email').fill(person.email)
    await page.getByLabel('Password').fill(person.password)
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('button', { name: 'Account of Ada' }).waitFor()
    expect(await axeViolations()).toEqual([])
  })

  test('a page that nobody signed in to sends no request that is refused', async () => {
    const { page } = await visit(board, { isStranger: true })
    const refused: string[] = []
    page.on('response', response => {
      if (!response.ok()) refused.push(`${response.status()} ${response.url()}`)
    })
    await page.reload()
    await page.getByRole('heading', { name: 'Welcome to board' }).waitFor()
    await board.client.auth.setup(person)
    await page.reload()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(refused).toEqual([])
  })

  test('a wrong password is rejected with the reason, and the right one leads to the requested page', async () => {
    await board.client.auth.setup(person)
    const project = await board.client.projects.create({ name: 'work', path: board.folder('work') })
    const { page } = await visit(board, { isStranger: true, at: `#/projects/${project.id}/settings` })
    await page.getByLabel('Email').fill(person.email)
    await page.getByLabel('Password').fill('battery staple')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('The email or the password is wrong.').waitFor()
    await page.getByLabel('Password').fill(person.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Account of Ada' }).waitFor()
    await expect.poll(() => page.url()).toContain(`#/projects/${project.id}/settings`)
  })

  test('a ticket signs in once, and leaves no trace in the address', async () => {
    await board.client.auth.setup(person)
    const { token } = await board.client.auth.login(login)
    const ticket = await ticketOf({ url: board.url, token })
    const first = await visit(board, { isStranger: true, at: `#/ticket/${ticket}/me` })
    await first.page.getByRole('button', { name: 'Account of Ada' }).waitFor()
    await expect.poll(() => first.page.url()).toBe(`${board.url}/#/me`)
    const second = await visit(board, { isStranger: true, at: `#/ticket/${ticket}` })
    await second.page.getByRole('alert').getByText('The link was already used').waitFor()
  })

  test('a link for another account asks first, and keeps the current account', async () => {
    await board.client.auth.setup(person)
    const { token } = await board.client.auth.login(login)
    const { page } = await visit({ url: board.url, token })
    await page.getByRole('button', { name: 'Account of Ada' }).waitFor()
    const eve = { email: 'eve@example.org', password: 'battery staple', displayName: 'Eve' }
    const { token: others } = await board.as('').auth.register(eve)
    const ticket = await ticketOf({ url: board.url, token: others })
    await page.goto('about:blank')
    await page.goto(`${board.url}/#/ticket/${ticket}/me`)
    await page.getByText('This link signs you in as Eve').waitFor()
    await page.getByRole('button', { name: 'Stay Ada' }).click()
    await page.getByRole('button', { name: 'Account of Ada' }).waitFor()
    await expect.poll(async () => (await board.as(others).auth.sessions()).length).toBe(1)
  })

  test('a ticket that is added to the address of an open page is also redeemed and removed from the address', async () => {
    const { page } = await visit(board, { at: '#/me' })
    await page.getByRole('button', { name: 'Account of Local operator' }).waitFor()
    const ticket = await ticketOf(board)
    await page.goto(`${board.url}/#/ticket/${ticket}/projects`)
    await expect.poll(() => page.url()).toBe(`${board.url}/#/projects`)
    await page.getByRole('button', { name: 'Account of Local operator' }).waitFor()
    await expect(board.as('').auth.redeemTicket({ ticket })).rejects.toMatchObject({ status: 401 })
  })

  test.each(['refused/Call%20Eve%20at%20once', 'refused/%', 'code/abc'])(
    'a sign-in message in a foreign link is not shown: %s',
    async outcome => {
      const { page, settled } = await visit(board, { isStranger: true, at: `#/${outcome}` })
      await page.getByText('The sign-in was not started in this tab.').waitFor()
      await settled()
      expect(await page.locator('body').innerText()).not.toMatch(/Eve|URI|verifier/)
    },
  )

  test('an expired sign-in is renewed above the page, which keeps its state', async () => {
    await board.client.auth.setup(person)
    const { token } = await board.client.auth.login(login)
    const { page } = await visit({ url: board.url, token }, { at: '#/' })
    await page.getByRole('button', { name: 'Account of Ada' }).waitFor()
    for (const { id, current } of await board.as(token).auth.sessions())
      if (!current) await board.as(token).auth.endSession({ id })
    const dialog = page.getByRole('dialog', { name: 'Your sign-in has expired' })
    await dialog.getByLabel('Email').fill(person.email)
    await dialog.getByLabel('Password').fill(person.password)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await dialog.waitFor({ state: 'detached' })
  })

  test('a user signs out before the first account exists, and the page asks for a new ticket of the server’s own account', async () => {
    const { page } = await visit(board)
    await page.getByRole('button', { name: 'Account of Local operator' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Welcome to board' }).waitFor()
  })
})

describe.skipIf(noBrowser !== undefined)('single sign-on', () => {
  const visit = visitors()
  let sso: SingleSignOn
  beforeEach(async () => {
    sso = await startSingleSignOn()
    sso.provider.people.set('ada', { email: 'ada@example.org', email_verified: true, name: 'Ada' })
    sso.provider.people.set('mallory', { email: 'root@example.org', email_verified: false })
  })
  afterEach(() => sso.close())

  const signOn = async (login: string) => {
    const { page } = await visit(sso.board, {
      isStranger: true,
      at: '#/me',
      elsewhere: sso.provider.issuer,
    })
    await page.getByRole('button', { name: 'Sign in with single sign-on' }).click()
    await page.locator('input[name=login]').fill(login)
    await page.locator('input[name=password]').fill('x')
    await page.locator('button[type=submit]').click()
    await page.locator('button[type=submit]', { hasText: 'Continue' }).click()
    return page
  }

  test('leads to the provider and back to the same page, signed in, with nothing in the address', async () => {
    const page = await signOn('ada')
    await page.getByRole('button', { name: 'Account of Ada' }).waitFor()
    await expect.poll(() => page.url()).toBe(`${sso.board.url}/#/me`)
    await expect.poll(() => page.evaluate('Object.keys(sessionStorage)')).toEqual(['board token /'])
  })

  test('the box that trusts addresses explains that only a missing email_verified is trusted', async () => {
    const { page } = await visit(sso.board, { at: '#/admin/single-sign-on' })
    const box = page.getByRole('checkbox', {
      name: 'Trust email addresses if the provider sends no email_verified claim',
    })
    expect(await box.isChecked()).toBe(false)
    await page.getByText('Sign-ins with email_verified: false still fail.').waitFor()
    await box.check()
    await page.getByLabel('Client secret').fill(sso.provider.clientSecret)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved single sign-on.').waitFor()
    expect(await sso.board.client.oidc.get()).toMatchObject({ emailVerification: 'assumed' })
    const refused = await signOn('mallory')
    await refused.getByRole('alert').getByText('has not verified your email address').waitFor()
  })

  test('shows why the provider, or the board, rejected the sign-in', async () => {
    const page = await signOn('mallory')
    await page.getByRole('alert').getByText('has not verified your email address').waitFor()
    await page.getByRole('button', { name: 'Sign in with single sign-on' }).waitFor()
  })
})
