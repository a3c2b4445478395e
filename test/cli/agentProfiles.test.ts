import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWebProject, type WebProject } from '../support/servers/webProject.ts'

const secret = 'sk-canary-of-a-profile'
let { server, cli, close } = {} as WebProject

beforeAll(async () => {
  ;({ server, cli, close } = await startWebProject())
  await server.as().auth.setup({ email: 'ada@example.org', password: 'correct horse' })
})
afterAll(() => close())

const named = async (name: string) => (await server.client.agentProfiles.list()).find(profile => profile.name === name)!

test('a profile is added with the values of its variables from the environment, from stdin and from a file, and changed', async () => {
  const made = await cli.json(
    ['agents', 'profiles', 'add', 'gateway', '--agent', 'claude', '--env', 'TEAM_TOKEN', '--env-from', '-'].concat(
      '--arg --verbose --arg x --model big --effort low'.split(' '),
    ),
    { input: `# comment\n\nGATEWAY_KEY=${secret}=a b\r\nEMPTY=\n`, env: { TEAM_TOKEN: secret } },
  )
  expect(made).toMatchObject({
    name: 'gateway',
    agent: 'claude',
    environment: ['EMPTY', 'GATEWAY_KEY', 'TEAM_TOKEN'],
    args: ['--verbose', 'x'],
    command: null,
    model: 'big',
    mode: null,
    effort: 'low',
  })
  const file = join(cli.home, 'more.env')
  writeFileSync(file, 'MORE=1\n')
  await cli.ok(['agents', 'profiles', 'edit', 'gateway', '--env-from', file, '--remove-env', 'EMPTY'])
  await cli.ok(['agents', 'profiles', 'edit', 'gateway', '--arg', 'none', '--effort', 'none', '--mode', 'plan'])
  await cli.ok(['agents', 'profiles', 'edit', made.id as string, '--command', '/opt/claude', '--command', '-v'])
  expect(await named('gateway')).toMatchObject({
    environment: ['GATEWAY_KEY', 'MORE', 'TEAM_TOKEN'],
    args: [],
    command: ['/opt/claude', '-v'],
    mode: 'plan',
    effort: null,
  })
  expect(await cli.ok(['agents', 'profiles', 'list'])).toBe(
    `${made.id as string}\tgateway\tclaude\tbig\tplan\t\t\tGATEWAY_KEY, MORE, TEAM_TOKEN\n`,
  )
})

test('a profile has a credential by name, is deleted with --yes, and an unknown name is not found', async () => {
  const { id } = await server.client.credentials.create({ name: 'work', provider: 'anthropic', apiKey: secret })
  await cli.ok(['agents', 'profiles', 'add', 'paid', '--agent', 'claude', '--credential', 'work'])
  expect(await named('paid')).toMatchObject({ credentialId: id })
  await cli.ok(['agents', 'profiles', 'edit', 'paid', '--credential', 'none'])
  expect(await named('paid')).toMatchObject({ credentialId: null })
  expect((await cli.board(['agents', 'profiles', 'delete', 'paid'])).code).toBe(2)
  await cli.ok(['agents', 'profiles', 'delete', 'paid', '--yes'])
  const gone = await cli.board(['agents', 'profiles', 'edit', 'gatewey', '--model', 'x'])
  expect([gone.code, gone.stderr]).toEqual([3, expect.stringContaining('did you mean: gateway')])
})

test('values are not accepted as arguments, and an error shows none of them', async () => {
  const add = (...words: string[]) => ['agents', 'profiles', 'add', 'x', '--agent', 'claude', ...words]
  const refused = [
    await cli.board(add('--env', `KEY=${secret}`)),
    await cli.board(add('--env', 'UNSET_HERE')),
    await cli.board(add('--env-from', '-'), { input: `KEY=1\n${secret}\n` }),
    await cli.board(add('--env-from', '-'), { input: `BOARD_URL=${secret}\n` }),
    await cli.board(['agents', 'profiles', 'add', 'x']),
    await cli.board(['agents', 'profiles', 'add', 'x', '--agent', 'none']),
    await cli.board(['agents', 'profiles', 'edit', 'gateway']),
  ]
  expect(refused.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2, 2, 2])
  expect(refused.map(({ stdout, stderr }) => stdout + stderr).join('')).not.toContain('canary')
  expect(refused[1]!.stderr).toContain('--env reads UNSET_HERE from the environment')
  expect(refused[2]!.stderr).toContain('line 2 is not NAME=VALUE')
  expect((await cli.board(['agents', 'profiles', 'add', 'x', '--agent', 'nobody'])).code).toBe(3)
})

test('a user who is not a server admin sees profiles without commands, and cannot change them', async () => {
  const { generatedPassword } = await server.client.users.create({
    email: 'bob@example.org',
    name: 'Bob',
    role: 'user',
  })
  const { token } = await server.as().auth.login({ email: 'bob@example.org', password: generatedPassword! })
  const env = { BOARD_TOKEN: token }
  expect(await cli.json(['agents', 'profiles', 'list'], { env })).toMatchObject([
    { name: 'gateway', command: null, args: null },
  ])
  expect((await cli.board(['agents', 'profiles', 'delete', 'gateway', '--yes'], { env })).code).toBe(4)
})
