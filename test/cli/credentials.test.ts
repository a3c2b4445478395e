import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCredentialProvider, type FakeCredentialProvider } from '../support/identity/fakeCredentialProvider.ts'
import { startWebProject, type WebProject } from '../support/servers/webProject.ts'

const apiKey = 'sk-canary-0123456789abcdef-WXYZ'
let provider: FakeCredentialProvider
let { server, cli, projectId, close } = {} as WebProject

beforeAll(async () => {
  provider = await startCredentialProvider()
  ;({ server, cli, projectId, close } = await startWebProject())
})
afterAll(async () => {
  await close()
  await provider.close()
})

const add = (name: string, ...more: string[]) =>
  cli.json(
    ['credentials', 'add', name, '--provider', 'custom', '--base-url', provider.url, '--api-key-stdin', ...more],
    { input: `${apiKey}\n` },
  )

test('a key is read from stdin, stored, and shown by its last four characters', async () => {
  const made = await add('work')
  expect(made).toMatchObject({ name: 'work', provider: 'custom', kind: 'api_key', baseUrl: provider.url })
  expect(await cli.json(['credentials', 'view', 'work'])).toMatchObject({ id: made.id, apiKey: '…WXYZ' })
  expect(await cli.ok(['credentials', 'list'])).toMatch(
    new RegExp(`^${made.id}\twork\tcustom\tapi_key\t${provider.url}\t`),
  )
  await cli.ok(['credentials', 'edit', 'work', '--name', 'office', '--api-key-stdin'], {
    input: 'sk-another-0123456789-QRST\r\n',
  })
  expect(await cli.json(['credentials', 'view', 'OFFICE', '--json', 'name,apiKey'])).toMatchObject({
    name: 'office',
    apiKey: '…QRST',
  })
  await cli.ok(['credentials', 'edit', 'office', '--name', 'work'])
})

test('no command prompts for a key without a terminal, or accepts one as an argument', async () => {
  const [silent, argument, provider, nothing, client] = await Promise.all([
    cli.board(['credentials', 'add', 'x', '--provider', 'openai']),
    cli.board(['credentials', 'add', 'x', '--provider', 'openai', '--api-key', apiKey]),
    cli.board(['credentials', 'add', 'x', '--provider', 'acme', '--api-key-stdin']),
    cli.board(['credentials', 'edit', 'work']),
    cli.board(['credentials', 'add', 'x', '--provider', 'openai', '--api-key-stdin', '--client-id', 'c'], {
      input: apiKey,
    }),
  ])
  expect([silent, argument, provider, nothing, client].map(({ code }) => code)).toEqual([2, 2, 2, 2, 2])
  expect(silent.stderr).toContain('--api-key-stdin')
  expect(argument.stderr).not.toContain('canary')
  expect(provider.stderr).toContain('anthropic')
})

test('headers are read from stdin and the environment, are named and never shown, and models can be added', async () => {
  const made = await cli.json(
    'credentials add gateway --provider custom --base-url http://127.0.0.1:9/v1 --api-key-stdin --header-env X-Team=TEAM_TOKEN --header-env X-Other=OTHER --model small --model big'.split(
      ' ',
    ),
    { input: apiKey, env: { TEAM_TOKEN: 'canary-team', OTHER: 'canary-other' } },
  )
  expect(made).toMatchObject({ headers: ['X-Team', 'X-Other'], models: ['small', 'big'] })
  expect(await cli.ok(['credentials', 'view', 'gateway'])).toContain('headers\tX-Team, X-Other\nmodels\tsmall, big\n')
  await cli.ok(['credentials', 'edit', 'gateway', '--header-stdin', 'X-New', '--model', 'none'], {
    input: 'canary-new\n',
  })
  expect(await cli.json(['credentials', 'view', 'gateway'])).toMatchObject({ headers: ['X-New'], models: [] })
  await cli.ok(['credentials', 'edit', 'gateway', '--remove-headers'])
  expect(await cli.json(['credentials', 'view', 'gateway'])).toMatchObject({ headers: [] })
  const refused = await Promise.all(
    [
      ['--header-env', 'X-Team: canary-argument'],
      ['--header-env', 'X-Team=NOT_SET_HERE'],
      ['--header-stdin', 'X-New', '--api-key-stdin'],
      ['--header-stdin', 'X-New', '--remove-headers'],
    ].map(words => cli.board(['credentials', 'edit', 'gateway', ...words])),
  )
  expect(refused.map(({ code }) => code)).toEqual([2, 2, 2, 2])
  expect(refused.map(({ stderr }) => stderr).join('')).not.toContain('canary')
})

test('verify exits with 0 for a valid key and with 1 and the reason for an invalid one', async () => {
  const { id } = await add('checked')
  provider.goodKey = apiKey
  expect(await cli.json(['credentials', 'verify', 'checked'])).toEqual({ id, valid: true, detail: null })
  provider.goodKey = 'another'
  const bad = await cli.board(['credentials', 'verify', 'checked'])
  expect([bad.code, bad.stdout]).toEqual([
    1,
    `id\t${id}\nvalid\tfalse\ndetail\tThe provider refuses the key (status 401).\n`,
  ])
})

test('usage shows the sum of the days', async () => {
  await add('counted')
  expect(await cli.ok(['credentials', 'usage', 'counted'])).toBe('total\t0\t0\t0\t0.00\n')
  expect(await cli.json(['credentials', 'usage', 'counted'])).toEqual({
    sessions: 0,
    inputTokens: 0,
    outputTokens: 0,
    costUsd: 0,
    byDay: [],
  })
})

test('a project, a card and an organization get a credential by name, and none removes it', async () => {
  const { id: credentialId } = await add('chosen')
  const { id: cardId } = await server.client.cards.create({ projectId, title: 'c' })
  const { id: organizationId } = await server.client.organizations.create({ name: 'acme' })
  const chosen = async () => [
    (await server.client.projects.get({ id: projectId })).credentialId,
    (await server.client.organizations.get({ id: organizationId })).defaultCredentialId,
    (await server.server.app.db.get<{ id: number | null }>('SELECT credential_id AS id FROM cards WHERE id = ?', [
      Number(cardId),
    ]))!.id?.toString() ?? null,
  ]
  for (const [wanted, expected] of [
    ['chosen', credentialId],
    ['none', null],
  ] as const) {
    for (const args of [
      ['projects', 'credential'],
      ['orgs', 'credential', 'acme'],
      ['cards', 'credential', cardId],
    ])
      await cli.ok([...args, wanted])
    expect(await chosen()).toEqual([expected, expected, expected])
  }
  const unknown = await cli.board(['projects', 'credential', 'chozen'])
  expect([unknown.code, unknown.stderr]).toEqual([3, expect.stringContaining('did you mean: chosen')])
})

test('--oauth shows where to enter which code, and waits until that is done', async () => {
  const authorize = (name: string) =>
    cli.board([
      'credentials',
      'add',
      name,
      '--provider',
      'custom',
      '--base-url',
      provider.url,
      '--oauth',
      '--client-id',
      'client',
      '-q',
    ])
  provider.outcome = { access_token: 'canary-access-token' }
  const done = await authorize('browser')
  expect(done.stderr).toBe(`Open ${provider.url}/activate in your browser and enter the code WDJB-MJHT\n`)
  expect([done.code, done.stdout]).toEqual([
    0,
    `${(await server.client.credentials.list()).find(({ name }) => name === 'browser')!.id}\n`,
  ])
  expect(await cli.json(['credentials', 'view', 'browser'])).toMatchObject({
    kind: 'oauth',
    apiKey: null,
    authorization: 'complete',
  })
  provider.outcome = 'access_denied'
  const refused = await authorize('refused')
  expect([refused.code, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toContain('the authorization was refused')
  expect(await cli.json(['credentials', 'list', '--json', 'name'])).not.toContainEqual({ name: 'refused' })
})

test('delete requires --yes, and a key cannot manage credentials', async () => {
  await add('gone')
  expect((await cli.board(['credentials', 'delete', 'gone'])).code).toBe(2)
  await cli.ok(['credentials', 'delete', 'gone', '--yes'])
  const missing = await cli.board(['credentials', 'view', 'gone'])
  expect(missing.code).toBe(3)
  const { key } = await server.client.keys.create({
    name: 'k',
    scope: 'project',
    projectId,
    permissions: ['cards.read'],
  })
  const keyFile = join(cli.home, 'key')
  writeFileSync(keyFile, key, { mode: 0o600 })
  expect((await cli.board(['credentials', 'list', '--token-file', keyFile])).code).toBe(4)
})

test('no output contains a secret', async () => {
  const printed = await Promise.all(
    [['list'], ['list', '--json'], ['view', 'work'], ['view', 'work', '--debug'], ['verify', 'checked', '--debug']].map(
      args => cli.board(['credentials', ...args]),
    ),
  )
  expect(printed.map(({ stdout, stderr }) => stdout + stderr).join('')).not.toContain('canary')
})
