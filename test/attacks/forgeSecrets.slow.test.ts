import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient, type Client } from '../../src/client/index.ts'
import { configure } from '../support/agents/agentBoard.ts'
import { createCanary, namesIn, type Canary } from '../support/contract/canary.ts'
import { FakeForge, type ForgeKind } from '../support/forge/fakeForge.ts'
import { tieProject } from '../support/forge/issueBoard.ts'
import { follow, type LiveSocket } from '../support/receivers/liveSocket.ts'
import { testSandbox } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { processIds, readProcessFile } from '../support/processes/processFiles.ts'

const patienceMs = 60_000
/** Writes its environment and arguments, those of its ancestors up to the server, and Git's output about the remote to a file. */
const looking = `{
pid=$$
while [ "$pid" -gt 1 ]; do
  for each in environ cmdline; do tr '\\0' '\\n' < /proc/$pid/$each; echo; done
  grep -q serve /proc/$pid/cmdline && break
  pid=$(sed -n 's/^PPid:[^0-9]*//p' /proc/$pid/status)
done
git config --list --show-origin
git remote -v
} > seen 2>&1
echo "I looked around: $(env)"`

let canary: Canary
let ways: Way[]
let onDisk: { name: string; bytes: Buffer }[]
let sealed: string[]

/** A project whose work is reviewed on a forge, and the source of its token. */
interface Way {
  kind: ForgeKind
  client: Client
  token: string
  forge: FakeForge
  projectId: string
  path: string
  socket: LiveSocket
  /** The environments of every process during a push, except Git's, and Git's own. */
  environments: { git: string; others: string }
}

beforeAll(async () => {
  canary = createCanary()
  configure(canary.dataDir, { looks: { protocol: 'command', command: ['sh', '-c', looking] } }, randomUUID())
  const folder = dirname(canary.dataDir)
  await canary.start({
    BOARD_ALLOW_PRIVATE_WEBHOOKS: '1',
    BOARD_SANDBOX: testSandbox,
    BOARD_PROJECT_ROOT: folder,
  })
  const { token: local } = JSON.parse(readFileSync(join(canary.dataDir, 'daemon.json'), 'utf8')) as { token: string }
  const people = createClient({ url: canary.url, token: local })
  const root = await people.auth.setup({ email: 'root@example.org', password: 'a long password' })
  await createClient({ url: canary.url, token: root.token }).auth.setSettings({
    enabled: true,
    registrationEnabled: true,
  })
  const ada = await people.auth.register({ email: 'ada@example.org', password: 'another long password' })
  ways = [await begin('github', root.token), await begin('gitlab', ada.token), await begin('gitea', ada.token)]
  for (const way of ways) await goTheWay(way)
  await takeOut(root.token)
  // The log is written a moment later.
  await eventually('the last line of the log', () => canary.log().includes('POST /api/backups'), patienceMs)
  await canary.stop()
  onDisk = canary.files()
  const key = onDisk
    .find(({ name }) => name === 'secret.key')!
    .bytes.toString()
    .trim()
  canary.keep('the sealing key', key)
  canary.keep('the bytes of the sealing key', Buffer.from(key, 'base64'))
  sealed = [...new Set(databases().match(/1\.[\w-]{8}\.[\w-]{16}\.[\w-]{22}\.[\w-]+/g))]
})
afterAll(async () => {
  for (const { socket, forge } of ways ?? []) {
    socket.close()
    await forge.close()
  }
  await canary.close()
})

/** A forge, and a project that is connected to it with a token of this user, and with a secret for its webhook. */
async function begin(kind: ForgeKind, token: string): Promise<Way> {
  const folder = dirname(canary.dataDir)
  const client = createClient({ url: canary.url, token })
  const forge = await FakeForge.start({ kind, folder: join(folder, `forge-${kind}`) })
  canary.keep(`the token for ${kind}`, forge.token)
  const path = join(folder, `site-${kind}`)
  const projectId = await tieProject({ client }, forge, { path, comments: true })
  await client.projects.update({ id: projectId, agent: 'looks' })
  const { url, secret } = await client.forges.giveWebhookSecret({ projectId })
  canary.keep(`the secret of the webhook of ${kind}`, secret)
  forge.webhookTo(url, secret)
  const socket = await follow(canary.url, token, projectId)
  return { kind, client, token, forge, projectId, path, socket, environments: { git: '', others: '' } }
}

/** From an issue to an open request, with a slow push and with failures on the way. */
async function goTheWay(way: Way): Promise<void> {
  const { client, forge, projectId } = way
  const issue = forge.openIssue({ title: 'Roof', body: 'It leaks.', labels: ['board'] })
  forge.comment(issue.number, 'Hurry.')
  await client.issues.sync({ projectId })
  const [card] = await client.cards.list({ projectId })
  const place = { projectId, cardId: card!.id }
  await client.comments.create({ ...place, body: 'At once.' })
  const columns = await client.columns.list({ projectId })
  const active = columns.find(({ columnType }) => columnType === 'active')!
  await client.cards.move({ ...place, columnId: active.id, position: 0 })
  await eventually(
    'the end of the agent',
    async () => (await client.cards.get(place)).status === 'completed',
    patienceMs,
  )
  await pushSlowly(way, () => client.branches.push(place))
  await client.pullRequests.create({ ...place, reviewers: ['ann'], labels: ['roof'] })
  // One forge repeats the received token, and one rejects it.
  const echo = { message: `Nobody knows ${forge.token}.`, error: forge.token }
  // Concurrent readers of the forge also get it.
  forge.fail({ times: 1000, status: 401, body: echo })
  await refused(way.kind, client.pullRequests.update({ ...place, title: 'Put a roof on' }))
  forge.behave()
  forge.revoke(forge.token)
  await refused(way.kind, client.branches.push({ ...place, force: true }))
  await refused(way.kind, client.issues.sync({ projectId }))
  forge.addToken(forge.login, forge.token)
  await client.issues.sync({ projectId })
  await client.pullRequests.update({ ...place, title: 'Put a roof on' })
  await forge.delivered()
  await tell(way, place)
}

/** Records the error of a failure. */
const refused = async (kind: ForgeKind, act: Promise<unknown>): Promise<void> => {
  const error = await act.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(Error)
  canary.note(`a failure of ${kind}`, `${(error as Error).message} ${JSON.stringify(error)}`)
}

/** Pushes to a remote that waits, and inspects the running processes in that time. */
async function pushSlowly({ forge, kind, environments }: Way, push: () => Promise<unknown>): Promise<void> {
  const at = (name: string) => join(dirname(canary.dataDir), `${name}-${kind}`)
  const hook = `#!/bin/sh\ntouch '${at('waits')}'\nuntil [ -e '${at('goes')}' ]; do sleep 0.05; done\n`
  writeFileSync(join(forge.repository.path, 'hooks/pre-receive'), hook, { mode: 0o755 })
  const pushed = push()
  await Promise.race([pushed, eventually('the push', () => existsSync(at('waits')), patienceMs)])
  for (const pid of processIds())
    environments[readProcessFile(pid, 'comm').startsWith('git') ? 'git' : 'others'] += readProcessFile(pid, 'environ')
  const remote = /git-remote-http/
  await eventually(
    'its arguments to be seen',
    () => [...canary.commandLines].some(line => remote.test(line)),
    patienceMs,
  )
  writeFileSync(at('goes'), '')
  await pushed
}

/** Records the API's responses to the user with the most rights. */
async function tell({ client, projectId, kind }: Way, place: { projectId: string; cardId: string }): Promise<void> {
  const told = {
    project: await client.projects.get({ id: projectId }),
    forge: await client.forges.get({ projectId }),
    card: await client.cards.get(place),
    sessions: await client.agents.history(place),
    messages: await client.agents.messages(place),
    activity: await client.activity.list(place),
    comments: await client.comments.list(place),
    request: await client.pullRequests.get(place),
    draft: await client.pullRequests.draft(place),
    issues: await client.issues.list({ projectId }),
    credentials: await client.credentials.list(),
  }
  for (const [name, answer] of Object.entries(told)) canary.note(`${name} of ${kind}`, JSON.stringify(answer))
}

/** Records exports, the log and the audit log, and creates a backup. */
async function takeOut(token: string): Promise<void> {
  const client = createClient({ url: canary.url, token })
  canary.note('audit', JSON.stringify((await client.audit.list({ limit: 200 })).items))
  await canary.ask('log', 'GET', '/api/logs?limit=1000', { token })
  for (const { kind, projectId, token: own } of ways)
    await canary.ask(`export of ${kind}`, 'GET', `/api/projects/${projectId}/export`, { token: own })
  await client.backups.create({})
}

const databases = () =>
  onDisk.flatMap(({ name, bytes }) => (name.startsWith('board.db') ? bytes.toString('latin1') : [])).join('')
/** The uncompressed content of a repository. */
const objectsOf = (path: string) =>
  execFileSync('git', ['-C', path, 'cat-file', '--batch-all-objects', '--batch'], { maxBuffer: 1 << 28 })
const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => ({
      name: join(entry.parentPath, entry.name),
      bytes: readFileSync(join(entry.parentPath, entry.name)),
    }))
const found = (places: { name: string; bytes: string | Buffer }[]) =>
  places.flatMap(({ name, bytes }) => namesIn(bytes, canary.secrets).map(what => `${what} in ${name}`))
const answers = () => canary.answers.map(({ name, text }) => ({ name, bytes: text }))
const events = () =>
  ways.map(({ kind, socket }) => ({ name: `events of ${kind}`, bytes: JSON.stringify(socket.messages) }))

describe.each(['github', 'gitlab', 'gitea'] as const)('%s', kind => {
  const way = () => ways.find(each => each.kind === kind)!
  const seen = () => {
    const { forge } = way()
    return forge.repository.read(
      forge.repository.branches().find(name => name.startsWith('board/'))!,
      'seen',
    )!
  }

  test('its agent finds no secret in its environment, arguments, parent processes and configuration', () => {
    expect(found([{ name: 'what the agent saw', bytes: seen() }])).toEqual([])
    expect(seen()).toContain('BOARD_CARD_ID=')
    expect(seen()).toContain(`${way().forge.cloneUrl} (push)`)
  })

  test('during a push, only Git has the token in its environment, and no process in its arguments', () => {
    const { environments, forge } = way()
    expect(found([{ name: 'environments', bytes: environments.others }])).toEqual([])
    // The token must be visible to Git, which proves that the check works.
    expect(environments.git).toContain(forge.token)
  })

  test('the repository, its worktrees and the content of the forge hold none', () => {
    const { path, forge } = way()
    const places = [...filesBelow(path), ...filesBelow(forge.repository.path)]
    for (const folder of [path, forge.repository.path]) places.push({ name: folder, bytes: objectsOf(folder) })
    expect(found(places)).toEqual([])
    expect(readFileSync(join(path, '.git/config'), 'utf8')).toContain(`url = ${forge.cloneUrl}\n`)
    expect(objectsOf(path).includes('BOARD_CARD_ID=')).toBe(true)
  })

  test('the forge gets its token in the header for it, and nowhere else', () => {
    const { forge } = way()
    const sent = forge.requests.map(({ method, path, query, body }) => `${method} ${path}?${query} ${body}`)
    const headers = forge.requests.map(each => JSON.stringify(each.headers)).join('\n')
    expect(found([{ name: 'requests', bytes: sent.join('\n') }])).toEqual([])
    expect(namesIn(headers, canary.secrets)).toEqual([`the token for ${kind}`])
  })
})

test('no process had a secret among its arguments', () => {
  expect(found([{ name: 'arguments', bytes: [...canary.commandLines].join('\n') }])).toEqual([])
})

test('no response, event, summary, export, log or entry of the audit log holds one, sealed or not', () => {
  const said = [...answers(), ...events(), { name: 'output', bytes: canary.log() }]
  expect(found(said)).toEqual([])
  for (const { name, bytes } of said)
    for (const each of sealed) expect([name, bytes.includes(each)]).toEqual([name, false])
  const text = said.map(({ bytes }) => bytes).join('\n')
  for (const marker of ['I looked around: ', 'pull_request.updated', 'forges.giveWebhookSecret', '"level":"info"'])
    expect([marker, text.includes(marker)]).toEqual([marker, true])
  expect(JSON.parse(canary.answers.find(({ name }) => name === 'request of github')!.text)).toMatchObject({
    state: 'open',
  })
})

test('the data folder has the key in its file, the sealed token only in the database, and a backup has no key', () => {
  const backups = onDisk.filter(({ name }) => name.startsWith('backups/') && name.endsWith('.gz'))
  const places = [
    ...onDisk,
    ...backups.map(({ name, bytes }) => ({ name: `${name}, unpacked`, bytes: gunzipSync(bytes) })),
  ]
  expect(found(places.filter(({ name }) => name !== 'secret.key'))).toEqual([])
  expect(namesIn(onDisk.find(({ name }) => name === 'secret.key')!.bytes, canary.secrets)).toContain('the sealing key')
  // Three tokens and three webhook secrets.
  expect(sealed.length).toBeGreaterThanOrEqual(6)
  const holding = places.filter(({ bytes }) => sealed.some(each => bytes.includes(each))).map(({ name }) => name)
  expect(holding.filter(name => !name.startsWith('board.db'))).toEqual([
    expect.stringMatching(/^backups\/.*, unpacked$/),
  ])
})
