import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server as HttpServer } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { startAgentBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'
import {
  noGitOverHttp,
  noGitOverSsh,
  serveGitOverHttp,
  serveGitOverSsh,
  type GitServer,
  type SshServer,
} from '../support/servers/gitServers.ts'
import { reportSkipped } from '../support/run/reportSkipped.ts'
import { gitIn } from '../support/git/gitIn.ts'

const shell = (script: string) => ({ protocol: 'command' as const, command: ['sh', '-c', script] })
const agents = { writes: shell('echo mine > mine'), tells: shell('env > mine') }
const user = 'ann'
const token = 'glpat-0123456789abcdefToken'
const folder = mkdtempSync(join(tmpdir(), 'board-remotes-'))
const [repositories, home, seen] = ['repositories', 'home', 'seen'].map(name => join(folder, name)) as [
  string,
  string,
  string,
]
let board: AgentBoard
let bare: string
let other: string
let round = 0
for (const reason of [noGitOverHttp, noGitOverSsh])
  if (reason !== undefined) reportSkipped('Git over a network', reason)
beforeAll(async () => {
  for (const each of [repositories, home]) mkdirSync(each)
  vi.stubEnv('HOME', home)
  vi.stubEnv('XDG_CONFIG_HOME', home)
  vi.stubEnv('SSH_AUTH_SOCK', '')
  board = await startAgentBoard(agents, { fetchTimeoutMs: 60_000 })
})
afterAll(async () => {
  await board.close()
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

const git = (...args: string[]) => gitIn(board.path, ...args)
/** A bare repository with the project's branch, which records the running processes during a push, and another user's clone. */
beforeEach(() => {
  bare = join(repositories, `site-${++round}.git`)
  other = join(folder, `other-${round}`)
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', bare])
  gitIn(bare, 'config', 'http.receivepack', 'true')
  if (git('remote') === 'origin') git('remote', 'remove', 'origin')
  git('push', '-q', bare, 'main')
  execFileSync('git', ['clone', '-q', bare, other])
  writeFileSync(
    join(bare, 'hooks/pre-receive'),
    `#!/bin/sh\nfor each in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $each; echo; done >> ${seen} 2> /dev/null\nexit 0\n`,
    { mode: 0o755 },
  )
  rmSync(seen, { force: true })
})
/** The account's configuration of Git. */
const configure = (lines: string) => writeFileSync(join(home, '.gitconfig'), lines)
afterEach(() => configure(''))

/** A commit of another user, pushed. */
function theirs(branch: string, name: string): string {
  writeFileSync(join(other, name), `${name}\n`)
  gitIn(other, 'add', '.')
  gitIn(other, 'commit', '-q', '-m', `Add ${name}`)
  gitIn(other, 'push', '-q', '-f', 'origin', `HEAD:refs/heads/${branch}`)
  return gitIn(other, 'rev-parse', 'HEAD')
}
const worked = async (agent = 'writes') =>
  board.untilStatus((await board.start(agent, { title: 'Roof' })).id, 'completed')
const place = ({ id }: Card) => ({ projectId: board.projectId, cardId: id })
const push = (card: Card, force = false) => board.client.branches.push({ ...place(card), force })
const update = (card: Card) => board.client.branches.update(place(card))
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => ({ code: 'done', message: '' }),
    ({ code, message }: { code: string; message: string }) => ({ code, message }),
  )

/** The operations on a branch that are equal for each transport. `origin` is the remote's address. */
async function expectBothWays(origin: string, agent?: string): Promise<Card> {
  git('remote', 'add', 'origin', origin)
  const card = await worked(agent)
  const branch = card.gitBranch!
  const pushed = await push(card)
  expect(pushed).toMatchObject({ remote: 'origin', branch, pushed: true })
  expect(gitIn(bare, 'rev-parse', branch)).toBe(pushed.commit)
  git('config', 'branch.main.remote', 'origin')
  git('config', 'branch.main.merge', 'refs/heads/main')
  const base = theirs('main', 'news')
  expect(await update(card)).toMatchObject({ updated: true, baseCommit: base })
  expect(await push(card)).toMatchObject({ pushed: true })
  const added = theirs(branch, 'theirs')
  for (const force of [false, true]) expect((await failure(push(card, force))).code).toBe('PUSH_REJECTED')
  expect(gitIn(bare, 'rev-parse', branch)).toBe(added)
  gitIn(bare, 'update-ref', '-d', `refs/heads/${branch}`)
  expect((await failure(push(card, true))).code).toBe('PUSH_REJECTED')
  expect(await push(card)).toMatchObject({ pushed: true })
  gitIn(bare, 'rev-parse', branch)
  return card
}
/** @returns the address of the server */
async function listenOn(server: Server): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
/** No place that could store or reveal a token contains it. */
function expectNoToken(...places: string[]): void {
  const config = readFileSync(join(board.path, '.git/config'), 'utf8')
  const running = readFileSync(seen, 'utf8')
  // Not `toMatch`, which would print all processes of this machine.
  expect(/git-remote-http/.test(running)).toBe(true)
  for (const text of [config, running, board.stored(), ...places]) expect(text.includes(token)).toBe(false)
}

describe.skipIf(noGitOverHttp)('over HTTP', () => {
  let server: GitServer
  beforeAll(async () => {
    server = await serveGitOverHttp(join(folder, 'http'), repositories, { user, password: token })
  })
  afterAll(() => server.close())
  const address = () => `${server.url}/site-${round}.git`
  const helper = (password: string) => {
    writeFileSync(join(home, 'credentials'), server.url.replace('//', `//${user}:${password}@`))
    configure(`[credential]\n\thelper = store --file ${join(home, 'credentials')}\n`)
  }

  test("a branch is pushed and fetched with the account's credential helper, and no process can read the token", async () => {
    helper(token)
    const card = await expectBothWays(address())
    const events = JSON.stringify(await board.client.activity.list(place(card)))
    expectNoToken(server.log(), events)
    expect(server.log()).toContain(`- ${user} [`)
  })

  test('a wrong or missing token is rejected immediately, without a prompt', async () => {
    git('remote', 'add', 'origin', address())
    const card = await worked()
    const { code, message } = await failure(push(card))
    expect([code, message]).toEqual([
      'CONFLICT',
      expect.stringMatching(/could not be pushed to origin: could not read Username/),
    ])
    helper('wrong-0123456789')
    const refused = await failure(push(card))
    expect(refused.message).toMatch(/could not be pushed to origin: Authentication failed/)
    expect(refused.message).not.toContain('wrong-0123456789')
  })

  test('a token in the address is in no output or record of the board', async () => {
    git('remote', 'add', 'origin', address().replace('//', `//${user}:${token}@`))
    const card = await worked()
    expect(await push(card)).toMatchObject({ pushed: true })
    git('remote', 'set-url', 'origin', address().replace('//', `//${user}:${token}@`).replace('site', 'none'))
    expect((await failure(push(card))).message).not.toContain(token)
    expect(board.stored()).not.toContain(token)
  })
})

describe.skipIf(noGitOverHttp)("over HTTP with the project's sealed token", () => {
  let server: GitServer
  const elsewhere: string[] = []
  let other: HttpServer
  let otherUrl: string
  /** The changed address of a remote, which requires a password. */
  const greedy: RequestListener = ({ headers }, response) => {
    elsewhere.push(Buffer.from(headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString())
    response.writeHead(401, { 'www-authenticate': 'Basic realm="Forge"' }).end()
  }
  beforeAll(async () => {
    server = await serveGitOverHttp(join(folder, 'sealed'), repositories, { user: 'oauth2', password: token })
    other = createServer(greedy)
    otherUrl = await listenOn(other)
  })
  afterAll(async () => {
    other.close()
    await server.close()
  })
  beforeEach(() => configure(`[credential]\n\thelper = store --file ${join(home, 'kept')}\n`))
  afterEach(async () => {
    elsewhere.length = 0
    await board.client.projects.update({ id: board.projectId, forge: { credentialId: null } })
  })
  const address = () => `${server.url}/site-${round}.git`
  const seal = async (apiKey: string, baseUrl = server.url) => {
    const made = await board.client.credentials.create({ name: `Git ${round}`, provider: 'gitlab', apiKey, baseUrl })
    await board.client.projects.update({ id: board.projectId, forge: { credentialId: made.id } })
  }

  test('a branch is pushed and fetched, and the token is stored nowhere', async () => {
    await seal(token)
    const card = await expectBothWays(address(), 'tells')
    expectNoToken(
      server.log(),
      JSON.stringify(await board.client.activity.list(place(card))),
      JSON.stringify(await board.messages(card.id)),
      gitIn(bare, 'show', `${card.gitBranch!}:mine`),
    )
    expect(gitIn(bare, 'show', `${card.gitBranch!}:mine`)).toContain('PATH=')
    // No credential helper of the account has stored it either.
    expect(existsSync(join(home, 'kept'))).toBe(false)
  })

  test('it is not sent to a changed address of the remote', async () => {
    await seal(token)
    git('remote', 'add', 'origin', `${otherUrl}/site-${round}.git`)
    expect((await failure(push(await worked()))).code).toBe('CONFLICT')
    expect(elsewhere).not.toEqual([])
    expect(elsewhere.join()).not.toContain(token)
  })

  test('it is not sent to a redirect target of its address', async () => {
    const leading = createServer((_, response) =>
      response.writeHead(302, { location: `${otherUrl}/x.git/info/refs?service=git-receive-pack` }).end(),
    )
    const url = await listenOn(leading)
    await seal(token, url)
    git('remote', 'add', 'origin', `${url}/site-${round}.git`)
    expect((await failure(push(await worked()))).code).toBe('CONFLICT')
    expect(elsewhere).not.toEqual([])
    expect(elsewhere.join()).not.toContain(token)
    leading.close()
    leading.closeAllConnections()
  })

  test('the token is hidden even if the forge repeats it', async () => {
    const line = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`
    const echoing = createServer(({ headers }, response) => {
      if (!headers.authorization)
        return void response.writeHead(401, { 'www-authenticate': 'Basic realm="Forge"' }).end()
      const [, encoded = ''] = headers.authorization.split(' ')
      const [, password = ''] = Buffer.from(encoded, 'base64').toString().split(':')
      response.writeHead(200, { 'content-type': 'application/x-git-receive-pack-advertisement' })
      response.end(`${line('# service=git-receive-pack\n')}0000${line(`ERR ${password} and ${encoded} are not known`)}`)
    })
    const url = await listenOn(echoing)
    await seal(token, url)
    git('remote', 'add', 'origin', `${url}/x.git`)
    const { message } = await failure(push(await worked()))
    expect(message).toContain('could not be pushed to origin: remote error: … and … are not known')
    echoing.close()
    echoing.closeAllConnections()
  })

  test('a push with a wrong token fails without exposing the token', async () => {
    await seal('wrong-0123456789')
    git('remote', 'add', 'origin', address())
    const { message } = await failure(push(await worked()))
    expect(message).toMatch(/could not be pushed to origin: Authentication failed/)
    expect(message).not.toContain('wrong-0123456789')
  })
})

describe.skipIf(noGitOverSsh)('over SSH', () => {
  let server: SshServer
  beforeAll(async () => {
    server = await serveGitOverSsh(join(folder, 'ssh'), repositories)
  })
  afterAll(() => server.close())
  afterEach(() => vi.stubEnv('SSH_AUTH_SOCK', ''))
  const address = () => `${server.url}/site-${round}.git`
  const account = (agent: string, command = server.command) => {
    configure(`[core]\n\tsshCommand = ${command}\n`)
    vi.stubEnv('SSH_AUTH_SOCK', agent)
  }

  test("a branch is pushed and fetched with the account's agent and known hosts", async () => {
    account(server.agent)
    await expectBothWays(address())
    expect(server.log()).toContain('Accepted publickey')
  })

  test('without the agent, or with an unknown host key, it reports the error without a prompt', async () => {
    git('remote', 'add', 'origin', address())
    const card = await worked()
    account('')
    expect((await failure(push(card))).message).toMatch(/Permission denied \(publickey/)
    const strange = join(folder, 'strange_hosts')
    writeFileSync(strange, '')
    account(server.agent, server.command.replace(server.knownHosts, strange))
    expect((await failure(push(card))).message).toMatch(/Host key verification failed/)
    expect(readFileSync(strange, 'utf8')).toBe('')
    expect(gitIn(bare, 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/main')
  })
})

describe('hostile remotes', () => {
  const ran = join(folder, 'ran')
  let server: Server | undefined
  let card: Card | undefined
  afterEach(async () => {
    if (!server) return
    const closed = new Promise(resolve => server!.close(resolve))
    ;(server as Partial<HttpServer>).closeAllConnections?.()
    await closed
    server = undefined
  })
  const listen = async (made: Server): Promise<string> => `${await listenOn((server = made))}/x.git`
  const refusal = async (url: string): Promise<string> => {
    git('config', 'remote.origin.url', url)
    card ??= await worked()
    const { code, message } = await failure(push(card))
    expect([url, code]).toEqual([url, 'CONFLICT'])
    expect(message).not.toMatch(/[\p{Cc}]/u)
    expect(message.length).toBeLessThan(400)
    return message
  }

  test.each([
    [`ext::touch ${ran}`],
    [`fd::17`],
    [`--upload-pack=touch ${ran}`],
    [`--receive-pack=touch ${ran}`],
    [`-oProxyCommand=touch ${ran}:x.git`],
    [`ssh://-oProxyCommand=touch%20${encodeURIComponent(ran)}/x.git`],
    [`$(touch ${ran}):x.git`],
    [`\`touch ${ran}\``],
    [`;touch ${ran};`],
  ])('%s runs nothing', async url => {
    await refusal(url)
    expect(existsSync(ran)).toBe(false)
  })

  const garbage: [string, RequestListener][] = [
    ['garbage', (_, response) => response.end('\u0000\u001b[31mgarbage\n'.repeat(1000))],
    [
      'invalid text in the form of refs',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/x-git-receive-pack-advertisement' })
        response.end('001f# service=git-receive-pack\n0000ffffgarbage')
      },
    ],
    ['a path to its own files', (_, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end()],
    ['a path to a program', (_, response) => response.writeHead(302, { location: `ext::sh -c touch% ${ran}` }).end()],
    [
      'hostile words',
      (_, response) =>
        response
          .writeHead(500, { 'content-type': 'text/plain' })
          .end('\u001b]0;title\u0007fatal: \u001b[2J\n'.repeat(100)),
    ],
  ]
  test.each(garbage)('one that answers %s is reported in one line', async (_, answer) => {
    await refusal(await listen(createServer(answer)))
    expect(existsSync(ran)).toBe(false)
  })

  test('one that closes the connection immediately is reported in one line', async () => {
    await refusal(await listen(createTcpServer(socket => socket.destroy())))
  })
})

describe('a remote that never answers', () => {
  test("times out after the server's limit, and no process of it remains", async () => {
    const asked: Socket[] = []
    const hanging = createTcpServer(socket => asked.push(socket.on('error', () => {})))
    const url = `${await listenOn(hanging)}/x.git`
    const impatient = await startAgentBoard(agents, { fetchTimeoutMs: 2000 })
    const running = () => execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
    try {
      const card = await impatient.untilStatus((await impatient.start('writes')).id, 'completed')
      gitIn(impatient.path, 'remote', 'add', 'origin', url)
      for (const [name, value] of [
        ['branch.main.remote', 'origin'],
        ['branch.main.merge', 'refs/heads/main'],
      ] as const)
        gitIn(impatient.path, 'config', name, value)
      const ref = { projectId: impatient.projectId, cardId: card.id }
      expect((await impatient.client.branches.update(ref)).remark).toContain('no answer within 2 s')
      expect(running().includes(url)).toBe(false)
    } finally {
      await impatient.close()
      for (const socket of asked) socket.destroy()
      hanging.close()
    }
  })
})

describe('hostile names', () => {
  test.each([
    'a;touch${IFS}ran',
    '$(touch${IFS}ran)',
    '`touch`',
    "it's",
    'ümlaut/ß',
    'a|b',
    '@',
    'refs/heads/x',
    'x%2e%2e',
  ])('a base called %j is only a name', async name => {
    const from = git('rev-parse', 'main')
    git('remote', 'add', 'origin', `file://${bare}`)
    git('checkout', '-q', '-B', name, from)
    git('push', '-q', 'origin', `refs/heads/${name}:refs/heads/${name}`)
    git('config', `branch.${name}.remote`, 'origin')
    git('config', `branch.${name}.merge`, `refs/heads/${name}`)
    try {
      const card = await worked()
      gitIn(other, 'reset', '-q', '--hard', from)
      const base = theirs(name, `news-${round}`)
      expect(await update(card)).toMatchObject({ updated: true, baseCommit: base })
      expect(await push(card)).toMatchObject({ pushed: true })
      expect([board.path, other, bare].map(each => existsSync(join(each, 'ran')))).toEqual([false, false, false])
    } finally {
      git('checkout', '-q', 'main')
      git('branch', '-q', '-D', '--', name)
    }
  })
})
