import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { openActions } from '../support/browsers/actOn.ts'
import { choose } from '../support/browsers/choose.ts'
import { connectedApp, type ConnectedApp } from '../support/identity/connectedApp.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

const hostile = '<img src=x onerror="window.wasRun=1">\u202e'
const ada = { email: 'ada@example.org', password: 'a long password' }

describe.skipIf(noBrowser !== undefined)('the page that asks whether an app is allowed', () => {
  const visit = visitors()
  let board: TestBoard
  let token: string
  let projectId: string
  let listener: Server
  let heard: URL[] = []
  let redirect: string

  beforeAll(async () => {
    board = await startBoard()
    token = (await board.as().auth.setup(ada)).token
    projectId = (await board.as(token).projects.create({ name: 'Roof', path: board.folder('roof') })).id
    listener = createServer((request, response) => {
      if (request.url!.startsWith('/callback')) heard.push(new URL(request.url!, redirect))
      response.setHeader('content-type', 'text/html').end('<title>The app</title>You can close this tab.')
    })
    await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
    redirect = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`
  })
  afterAll(async () => {
    listener.close()
    await board.close()
  })

  const app = (name = hostile): Promise<ConnectedApp> =>
    connectedApp(board, { client_name: name, redirect_uris: ['http://127.0.0.1/callback'] })
  const placeOf = async (made: ConnectedApp) => `#/connect/${await made.request({ redirect_uri: redirect })}`
  const open = async (made: ConnectedApp, options = {}) =>
    visit({ url: board.url, token }, { at: await placeOf(made), elsewhere: redirect, ...options })

  test.each([
    ['light', { colorScheme: 'light' }],
    ['dark', { colorScheme: 'dark' }],
    ['on a phone', { colorScheme: 'dark', viewport: { width: 390, height: 844 } }],
  ] as const)('names the app as text, and where the answer goes (%s)', async (_, options) => {
    const { page, settled, axeViolations } = await open(await app(), options)
    await page.getByText('<img src=x').waitFor()
    await settled()
    expect(await page.getByRole('main').innerText()).toMatch(/http:\/\/127\.0\.0\.1 \(a program on this computer\)/)
    expect(await page.getByLabel('Access', { exact: true }).innerText()).toBe('Read only')
    expect(await axeViolations()).toEqual([])
    expect(await page.evaluate('[window.wasRun, document.documentElement.scrollWidth <= innerWidth]')).toEqual([
      undefined,
      true,
    ])
  })

  test('grants the selected permissions in the selected project by keyboard', async () => {
    heard = []
    const made = await app('Probe')
    const { page, settled } = await open(made)
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    await settled()
    await choose(page.getByLabel('Access', { exact: true }), 'Read, and work on cards')
    await choose(page.getByRole('combobox', { name: 'Projects' }), 'Roof')
    await page.getByRole('button', { name: 'Allow' }).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(url => url.pathname === '/callback')
    expect(heard).toHaveLength(1)
    const code = heard[0]!.searchParams.get('code')!
    expect(heard[0]!.searchParams.get('state')).toBe('state-of-the-app')
    const { body } = await made.trade(code, { redirect_uri: redirect })
    expect((await board.as(body.access_token).auth.me()).token).toMatchObject({ scope: 'project', projectId })
    const other = await visit({ url: board.url, token }, { at: '#/me/keys' })
    await other.page.getByText('connected app, http://127.0.0.1').waitFor()
    await other.page.getByText(/if unused, until/).waitFor()
    expect(await (await openActions(other.page, 'Probe')).allInnerTexts()).toEqual(['Revoke…'])
  })

  test('rejects an authorization, and shows that a decided request is over', async () => {
    heard = []
    const made = await app('Refused')
    const place = await placeOf(made)
    const { page } = await visit({ url: board.url, token }, { at: place, elsewhere: redirect })
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.waitForURL(url => url.pathname === '/callback')
    expect(heard[0]!.searchParams.get('error')).toBe('access_denied')
    const again = await visit({ url: board.url, token }, { at: place, elsewhere: redirect })
    await again.page.getByRole('button', { name: 'Allow' }).click()
    await again.page.getByText(/was already answered/).waitFor()
    expect((await board.as(token).keys.list()).map(({ name }) => name)).not.toContain('Refused')
  })

  test('shows that an expired request can only be started again in the app', async () => {
    const { page } = await visit({ url: board.url, token }, { at: '#/connect/of-long-ago', elsewhere: redirect })
    const notice = page.getByRole('main').getByRole('alert')
    await notice.getByText(/Start again in the app/).waitFor()
    expect(await notice.getByRole('button').count()).toBe(0)
  })

  test('asks a signed-out user to sign in first, and then shows the authorization request', async () => {
    const { page } = await visit(
      { url: board.url, token },
      { at: await placeOf(await app('Patient')), elsewhere: redirect, isStranger: true },
    )
    await page.getByLabel('Email').fill(ada.email)
    await page.getByLabel('Password').fill(ada.password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('Patient').waitFor()
    await page.getByRole('button', { name: 'Allow' }).waitFor()
  })
})
