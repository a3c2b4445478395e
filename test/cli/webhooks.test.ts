import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { hideAgents, startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startReceiver, verified, type Receiver } from '../support/receivers/webhookReceiver.ts'

let server: TestBoard
let cli: CommandLine
let receiver: Receiver
let isBroken = false

beforeAll(async () => {
  receiver = await startReceiver((_, response) =>
    response.writeHead(isBroken ? 500 : 200).end(isBroken ? 'out of order' : 'ok'),
  )
  server = await startBoard({ externalRequestsPerMinute: 10_000 })
  await server.client.projects.create({ name: 'web', path: server.folder('web') })
  cli = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: server.token, BOARD_PROJECT: 'web' })
})
afterAll(async () => {
  cli.close()
  await server.close()
  await receiver.close()
})

test('a webhook is created with its secret on stdout alone, tested, changed and deleted', async () => {
  const url = `${receiver.url}/made`
  const { stdout: secret, stderr } = await cli.board([
    'webhooks',
    'create',
    url,
    '--event',
    'card.moved',
    '--event',
    'card.created',
    '--description',
    'To the chat',
    '-q',
  ])
  expect([secret.trim(), stderr]).toEqual([expect.stringMatching(/^whsec_\S+$/), ''])
  const tried = await cli.board(['webhooks', 'test', url, '--wait', '--json', 'status,responseStatus,responseBody'])
  expect([tried.code, JSON.parse(tried.stdout), tried.stderr]).toEqual([
    0,
    { status: 'succeeded', responseStatus: 200, responseBody: 'ok' },
    'The receiver accepted the message with status 200.\n',
  ])
  expect(verified(secret.trim(), receiver.at('/made')[0]!)).toMatchObject({ type: 'webhook.test' })
  const [{ id, events, description }] = await cli.json<[{ id: string; events: string[]; description: string }]>([
    'webhooks',
    'list',
  ])
  expect([events, description]).toEqual([['card.moved', 'card.created'], 'To the chat'])
  await cli.ok(['webhooks', 'edit', id, '--target', `${receiver.url}/changed`, '--event', 'card.archived', '--disable'])
  expect((await cli.ok(['webhook', 'list'])).split('\t').slice(0, 4)).toEqual([
    id,
    `${receiver.url}/changed`,
    'card.archived',
    'false',
  ])
  const refused = await cli.board(['webhooks', 'test', id])
  expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining('the webhook is disabled')])
  await cli.ok(['webhooks', 'edit', id, '--enable'])
  expect((await cli.json<Array<{ enabled: boolean }>>(['webhooks', 'list']))[0]!.enabled).toBe(true)
  const kept = await cli.board(['webhooks', 'delete', id])
  expect([kept.code, kept.stderr]).toEqual([2, expect.stringContaining('specify --yes')])
  await cli.ok(['webhooks', 'delete', id, '--yes'])
  expect(await cli.json(['webhooks', 'list'])).toEqual([])
})

test('a new secret is printed with a note on stderr that it is shown once', async () => {
  const { stdout, stderr } = await cli.board(['webhooks', 'create', `${receiver.url}/turned`, '--event', 'card.moved'])
  expect(stderr).toBe('Save the secret now. It is not shown again.\n')
  const [id, secret] = [/^id\t(.*)$/m.exec(stdout)![1]!, /^secret\t(.*)$/m.exec(stdout)![1]!]
  const turned = await cli.json(['webhooks', 'rotate', id])
  expect(turned.secret).toMatch(/^whsec_/)
  expect([turned.id, turned.secret === secret]).toEqual([id, false])
  expect(await cli.ok(['webhooks', 'list', '--json'])).not.toContain('whsec_')
})

test("failed deliveries are listed with the receiver's response, and sent again from a pipe", async () => {
  const id = (await cli.json(['webhooks', 'create', `${receiver.url}/broken`, '--event', 'card.created'])).id!
  isBroken = true
  const failed = await cli.board(['webhooks', 'test', id, '--wait'])
  expect([failed.code, failed.stderr]).toEqual([1, 'The receiver answered with status 500.\n'])
  for (const title of ['A', 'B', 'C']) await cli.ok(['cards', 'add', title])
  await eventually('all attempts', () => receiver.at('/broken').length === 4)
  isBroken = false
  const pending = await eventually('all answers', async () => {
    const found = await cli.json<
      Array<{ id: string; type: string; error: string; responseBody: string; messageId: string }>
    >(['webhooks', 'deliveries', id, '--status', 'pending'])
    return found.every(({ error }) => error) ? found : undefined
  })
  expect(pending.map(({ type, error, responseBody }) => [type, error, responseBody]).slice(0, 3)).toEqual(
    Array.from({ length: 3 }, () => ['card.created', 'The receiver answered with status 500.', 'out of order']),
  )
  expect((await cli.ok(['webhooks', 'deliveries', id, '--limit', '2', '-q'])).trim().split('\n')).toEqual(
    pending.slice(0, 2).map(each => each.id),
  )
  const queued = await cli.ok(['webhooks', 'redeliver', id, '-'], { input: pending.map(each => each.id).join('\n') })
  expect(queued).toBe(pending.map(each => `${each.id}\tqueued\n`).join(''))
  await eventually(
    'all successes',
    async () =>
      (await cli.json<unknown[]>(['webhooks', 'deliveries', id, '--status', 'succeeded', '--all'])).length === 4,
  )
  const unknown = await cli.board(['webhooks', 'redeliver', id, '999999'])
  expect([unknown.code, unknown.stderr]).toEqual([3, expect.stringContaining('delivery not found')])
})

test('invalid input is reported before any request to the server', async () => {
  const cases: Array<[string[], number, string]> = [
    [['webhooks', 'create', 'https://example.org/'], 2, '--event'],
    [['webhooks', 'create', 'https://example.org/', '--event', 'card.exploded'], 2, 'card.moved'],
    [['webhooks', 'edit', '1'], 2, 'nothing to change'],
    [['webhooks', 'edit', '1', '--enable', '--disable'], 2, '--disable'],
    [['webhooks', 'test', '999'], 3, 'there is no webhook "999"'],
    [['webhooks', 'create', 'example.org', '--event', 'card.moved'], 2, 'url must be a URL'],
  ]
  for (const [args, code, text] of cases) {
    const ran = await cli.board(args)
    expect([args, ran.code, ran.stderr]).toEqual([args, code, expect.stringContaining(text)])
  }
})

test('an API key with permission to write webhooks needs no password', async () => {
  const key = (
    await cli.ok(['keys', 'create', 'hooks', '--permission', 'webhooks.write', '--permission', 'cards.read', '-q'])
  ).trim()
  const [project] = await server.client.projects.list()
  const env = { BOARD_TOKEN: key, BOARD_PROJECT: project!.id }
  const { id } = await cli.json(['webhooks', 'create', `${receiver.url}/key`, '--event', 'card.moved'], { env })
  await cli.ok(['webhooks', 'edit', id!, '--description', 'By a key'], { env })
  const denied = await cli.board(['webhooks', 'list'], { env })
  expect([denied.code, denied.stderr]).toEqual([4, expect.stringContaining('webhooks.read')])
})

test('a server rejects targets on its own machine unless it is configured to allow them', async () => {
  const dataDir = join(cli.home, 'data')
  mkdirSync(dataDir)
  hideAgents(dataDir)
  const serve = async (args: string[], env: Record<string, string> = {}) => {
    const going = cli.start(['serve', '--port', '0', '--data-dir', dataDir, ...args], env)
    const url = await eventually('the server', () => /Listening on (\S+)/.exec(going.stdout)?.[1], 15_000)
    const { token } = JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8'))
    return { going, env: { BOARD_URL: url, BOARD_TOKEN: token } }
  }
  const make = (env: Record<string, string>) =>
    cli.board(['webhooks', 'create', receiver.url, '--event', 'card.moved', '-P', '1', '-q'], { env })
  for (const [args, more, isLetPass] of [
    [[], {}, false],
    [['--allow-private-webhooks'], {}, true],
    [[], { BOARD_ALLOW_PRIVATE_WEBHOOKS: '1' }, true],
  ] as Array<[string[], Record<string, string>, boolean]>) {
    const { going, env } = await serve(args, more)
    await cli.board(['projects', 'create', 'inside', '--path', cli.home], { env })
    const made = await make(env)
    expect([isLetPass, made.code, made.stderr]).toEqual(
      isLetPass ? [true, 0, ''] : [false, 2, expect.stringContaining('loopback, private or link-local')],
    )
    const tried = isLetPass ? await cli.board(['webhooks', 'test', '1', '-P', '1', '--wait'], { env }) : undefined
    expect(tried?.stderr).toBe(isLetPass ? 'The receiver accepted the message with status 200.\n' : undefined)
    going.interrupt()
    await eventually('its end', () => going.code !== undefined, 15_000)
  }
})
