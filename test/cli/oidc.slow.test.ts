import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Browser, type Shown } from '../support/identity/browser.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import type { Ran } from '../support/commands/commandWorker.ts'
import { startBoard } from '../support/servers/testBoard.ts'
import { onTerminal } from '../support/terminals/onTerminal.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startSingleSignOn, type SingleSignOn } from '../support/identity/singleSignOn.ts'

let sso: SingleSignOn
let admin: CommandLine
let person: CommandLine
let opened: string

beforeAll(async () => {
  sso = await startSingleSignOn()
  sso.provider.people.set('ada', { email: 'ada@example.org', email_verified: true, name: 'Ada' })
  sso.provider.people.set('mallory', { email: 'root@example.org', email_verified: false })
  admin = commandLine({ BOARD_URL: sso.board.url, BOARD_TOKEN: sso.board.token })
  person = commandLine({ BOARD_URL: sso.board.url })
  opened = join(person.home, 'opened')
  const script = join(person.home, 'browser')
  writeFileSync(script, '#!/bin/sh\nprintf %s "$1" > "$HOME/opened.new" && mv "$HOME/opened.new" "$HOME/opened"\n')
  chmodSync(script, 0o700)
  person.env.BROWSER = script
})
afterAll(async () => {
  admin.close()
  person.close()
  await sso.close()
})
beforeEach(() => rmSync(opened, { force: true }))

/** The address at which the browser was opened. */
const openedUrl = () =>
  eventually('the browser to be opened', () => (existsSync(opened) ? readFileSync(opened, 'utf8') : ''))

/** Runs the command, and signs in as this subject at the address that it opens. */
async function signIn(subject: string): Promise<{ ran: Ran; url: string; shown: Shown }> {
  const running = person.board(['auth', 'login', '--oidc'])
  const url = await openedUrl()
  const shown = await new Browser().signIn(url, subject)
  return { ran: await running, url, shown }
}

test('a browser opens, and the resulting token is stored in the profile', async () => {
  const { ran, url, shown } = await signIn('ada')
  expect(ran).toEqual({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining(`Signed in to ${sso.board.url} as ada@example.org (user).`),
  })
  expect(ran.stderr).toContain(url)
  expect(new URL(url).pathname).toBe('/api/oidc/login')
  expect(shown.body).toContain('You can close this page')
  expect(shown.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(await person.json(['whoami'])).toMatchObject({ email: 'ada@example.org', displayName: 'Ada' })
  const file = join(person.home, '.config', 'board', 'config.json')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const { token } = JSON.parse(readFileSync(file, 'utf8')).profiles.default
  expect(token).toMatch(/^svc_st_/)
  expect([ran.stderr, url, shown.url, shown.body].join()).not.toContain('svc_')
  await expect(fetch(shown.url)).rejects.toThrow('fetch failed')
  await person.ok(['auth', 'logout'])
  expect((await person.board(['whoami'])).code).toBe(4)
})

test('the address is printed for a browser that the program does not open', async () => {
  const { code, stderr } = await person.board(['auth', 'login', '--oidc', '--no-browser', '--timeout', '1'])
  expect(stderr).toMatch(
    /^To sign in, open in a browser on this machine:\n {2}http:\/\/127\.0\.0\.1:\d+\/api\/oidc\/login\?loopback=http%3A%2F%2F127\.0\.0\.1%3A\d+%2F[\w-]{22}&challenge=[\w-]{43}\n/,
  )
  expect(existsSync(opened)).toBe(false)
  expect({ code, last: stderr.trim().split('\n').slice(-2) }).toEqual({
    code: 8,
    last: ['board: the sign-in did not finish within 1 s', 'start again with: board auth login --oidc'],
  })
})

test('if the browser cannot be opened, the address is printed', async () => {
  const { stderr } = await person.board(['auth', 'login', '--oidc', '--timeout', '1'], {
    env: { BROWSER: '/no/such/browser %s' },
  })
  expect(stderr).toContain('To sign in, open in a browser on this machine:')
})

test('a refusal is shown in the terminal, and ends the wait', async () => {
  const { ran, shown } = await signIn('mallory')
  expect(ran).toEqual({
    code: 4,
    stdout: '',
    stderr: expect.stringContaining('board: The identity provider has not verified your email address\n'),
  })
  expect(shown.body).toContain('You are not signed in')
  expect((await person.board(['whoami'])).code).toBe(4)
})

test('a code from another sign-in is rejected', async () => {
  const running = person.board(['auth', 'login', '--oidc'])
  const url = new URL(await openedUrl())
  const listener = url.searchParams.get('loopback')!
  const others = await Promise.all(
    ['/', '/?code=x', `${new URL(listener).pathname}x?code=x`, new URL(listener).pathname].map(path =>
      fetch(new URL(path, listener)),
    ),
  )
  expect(others.map(({ status }) => status)).toEqual([404, 404, 404, 404])
  const { goTo } = await sso.signInFor('ada')
  const page = await (await fetch(`${listener}${goTo.search}`)).text()
  expect(page).toContain('You are not signed in')
  expect(await running).toMatchObject({ code: 4, stderr: expect.stringContaining('the code is not valid') })
})

test('a server without single sign-on, and a script without a user, fail immediately', async () => {
  const plain = await startBoard()
  try {
    const tried = await Promise.all([
      person.board(['auth', 'login', '--oidc'], { env: { BOARD_URL: plain.url } }),
      person.board(['auth', 'login', '--oidc', '--no-input']),
      person.board(['auth', 'login', '--oidc', '--email', 'ada@example.org']),
      person.board(['auth', 'login', '--no-browser', '--email', 'ada@example.org']),
    ])
    expect(tried.map(({ code }) => code)).toEqual([5, 2, 2, 2])
    expect(tried[0].stderr).toContain('no single sign-on')
    expect(existsSync(opened)).toBe(false)
  } finally {
    await plain.close()
  }
})

test('settings oidc asks before it trusts addresses, and states that email_verified: false still fails', async () => {
  const file = join(admin.home, 'oidc.json')
  const { issuer, clientSecret } = sso.provider
  writeFileSync(file, JSON.stringify({ issuerUrl: issuer, clientId: 'board', clientSecret }))
  const args = ['settings', 'oidc', '-F', file, '--email-verification', 'assumed']
  const { code, text } = await onTerminal(args, {
    cwd: admin.home,
    env: { ...admin.env, NO_COLOR: '1' },
    answers: [['[y/N]', 'n\r']],
  })
  expect(code).not.toBe(0)
  expect(text.replace(/\s+/g, ' ')).toContain(
    'Trust email addresses if the provider sends no email_verified (false still fails)? Anyone who can set an address there can then sign in to the account with that address.',
  )
  expect(await admin.json(['settings', 'oidc'])).toMatchObject({ emailVerification: 'required' })
})

test('settings oidc shows, sets, tests and removes, and never accepts or shows the secret in plain text', async () => {
  const { issuer, clientSecret } = sso.provider
  const shown = {
    configured: true,
    issuerUrl: issuer,
    clientId: 'board',
    redirectUri: `${sso.board.url}/api/oidc/callback`,
    allowedDomains: [] as string[],
    allowedGroups: [] as string[],
    groupsClaim: 'groups',
    emailVerification: 'required',
  }
  expect(await admin.json(['settings', 'oidc'])).toEqual(shown)
  expect(await admin.json(['settings', 'oidc', '--test'])).toEqual({ ok: true, issuer, error: null })
  const bound = (...args: string[]) =>
    admin.json(['settings', 'oidc', '--client-secret-stdin', ...args], { input: clientSecret })
  expect(await bound('--allow-domain', 'Example.org', 'example.net', '--allow-group', 'ops')).toEqual({
    ...shown,
    allowedDomains: ['example.org', 'example.net'],
    allowedGroups: ['ops'],
  })
  expect(await bound('--allow-domain', 'none', '--groups-claim', 'roles')).toEqual({
    ...shown,
    allowedGroups: ['ops'],
    groupsClaim: 'roles',
    emailVerification: 'required',
  })
  expect(await bound('--allow-group', 'none', '--groups-claim', 'groups')).toEqual(shown)
  expect((await admin.board(['settings', 'oidc', '--issuer', issuer])).stderr).toContain('--client-secret-stdin')
  expect((await admin.board(['settings', 'oidc', '--client-secret', clientSecret])).code).toBe(2)
  const wrong = await admin.board(['settings', 'oidc', '--issuer', `${issuer}/`, '--client-secret-stdin'], {
    input: `${clientSecret}\n`,
  })
  expect(wrong).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`issuerUrl\t${issuer}/\n`),
    stderr: expect.stringContaining(shown.redirectUri),
  })
  expect(await admin.board(['settings', 'oidc', '--test'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('must be equal to it'),
  })
  expect((await admin.board(['settings', 'oidc', '--delete'])).code).toBe(2)
  await admin.ok(['settings', 'oidc', '--delete', '--yes'])
  expect(await admin.json(['settings', 'oidc'])).toMatchObject({ configured: false, issuerUrl: null })
  expect((await admin.board(['settings', 'oidc', '--test'])).code).toBe(5)
  const file = await admin.board(['settings', 'oidc', '-F', '-'], {
    input: JSON.stringify({ issuerUrl: issuer, clientId: 'board', clientSecret }),
  })
  expect({
    code: file.code,
    leaks: (file.stdout + file.stderr + wrong.stdout + wrong.stderr).includes(clientSecret),
  }).toEqual({ code: 0, leaks: false })
  expect((await signIn('ada')).ran.code).toBe(0)
})
