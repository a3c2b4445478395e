import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, fetch } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { Program } from '../support/identity/program.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { noProxy, proxyIn, type Proxy } from '../support/servers/proxy.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'

describe.skipIf(noProxy !== undefined)('behind nginx with TLS and a path, as in the page on operations', () => {
  const root = mkdtempSync(join(tmpdir(), 'board-proxy-'))
  const code = 'only-for-this-test'
  let url: string
  let certificate: string
  let proxy: Proxy
  let board: ReturnType<typeof boardProcess>
  let cli: CommandLine

  beforeAll(async () => {
    proxy = await proxyIn(root)
    ;({ url, certificate } = proxy)
    const args = ['--public-url', url, '--trust-proxy', '--setup-code', code]
    board = boardProcess(join(root, 'data'), { HOME: root }, args)
    await board.start()
    await proxy.start(board.url)
    cli = commandLine({ NODE_EXTRA_CA_CERTS: certificate, BOARD_URL: url })
    await board.client.projects.create({ name: 'web', path: root })
    await cli.ok(['auth', 'setup', '--email', 'ada@example.org', '--password-stdin'], {
      input: 'correct horse\n',
      env: { BOARD_SETUP_CODE: code },
    })
  })
  afterAll(async () => {
    cli?.close()
    await proxy?.close()
    await clearAway(board, root)
  })

  test('commands work, and their output contains the public address', async () => {
    const id = (await cli.ok(['cards', 'add', 'Through the proxy', '-P', 'web', '-q'])).trim()
    expect(await cli.ok(['cards', 'list', '-P', 'web'])).toContain('Through the proxy')
    const file = join(root, 'big.bin')
    writeFileSync(file, Buffer.alloc(5_000_000, 'x'))
    await cli.ok(['cards', 'attach', id, file, '-P', 'web'])
    expect((await cli.json(['status', '-P', 'web'])).server).toMatchObject({ url })
  })

  test('live events pass, and end with the server', async () => {
    const following = cli.start(['events', '-P', 'web', '--type', 'card.created'])
    await eventually('an event', async () => {
      await board.client.cards.create({ projectId: '1', title: 'Live' })
      return following.stdout.includes('"card.created"')
    })
    following.interrupt()
    await eventually('its end', () => following.code !== undefined)
  })

  test('the addresses of peers are those that the proxy reports, so that no remote client counts as local', async () => {
    expect(await ask(`${url}/metrics`, { 'x-forwarded-for': '127.0.0.1' })).toMatchObject({ status: 401 })
    expect(await ask(`${url}/metrics`, { authorization: `Bearer ${board.token}` })).toMatchObject({ status: 200 })
    expect((await ask(`${url}/`)).body).toContain('<title>board</title>')
    expect((await ask(`${url}/api/projects`, { host: 'evil.example' })).status).toBe(403)
  })

  test('an app with the public address finds the sign-in', async () => {
    const { origin } = new URL(url)
    const told = async (path: string) => JSON.parse((await ask(`${origin}/.well-known/${path}`)).body)
    expect(await told('oauth-protected-resource/board/api/mcp')).toMatchObject({
      resource: `${url}/api/mcp`,
      authorization_servers: [url],
    })
    expect(await told('oauth-authorization-server/board')).toMatchObject({
      issuer: url,
      authorization_endpoint: `${url}/api/oauth/authorize`,
      token_endpoint: `${url}/api/oauth/token`,
    })
    expect((await ask(`${origin}/.well-known/oauth-authorization-server/boards`)).status).toBe(404)
  })

  test('an app signs in at the public address, and calls a tool', async () => {
    const dispatcher = new Agent({ connect: { ca: readFileSync(certificate) } })
    const trusting = ((address: URL, init?: object) =>
      fetch(address, { ...init, dispatcher })) as unknown as typeof globalThis.fetch
    const program = new Program()
    const connect = () => {
      const transport = new StreamableHTTPClientTransport(new URL(`${url}/api/mcp`), {
        authProvider: program,
        fetch: trusting,
      })
      const client = new Client({ name: 'probe', version: '1' })
      return { transport, client, connected: client.connect(transport) }
    }
    const first = connect()
    await expect(first.connected).rejects.toThrow(UnauthorizedError)
    const sent = await trusting(program.asked!, { redirect: 'manual' })
    const page = new URL(sent.headers.get('location')!)
    expect(page.href).toMatch(`${url}/#/connect/`)
    const request = page.hash.replace('#/connect/', '')
    const signedIn = { email: 'ada@example.org', password: 'correct horse' }
    const { token } = await board.client.auth.login(signedIn)
    const { redirectTo } = await createClient({ url: board.url, token }).oauth.approve({ request, access: 'work' })
    await first.transport.finishAuth(new URL(redirectTo).searchParams.get('code')!)
    const { client, connected } = connect()
    await connected
    const { content } = await client.callTool({ name: 'list_projects', arguments: {} })
    expect(JSON.stringify(content)).toContain('web')
    await client.close()
    await dispatcher.close()
  })

  const ask = (address: string, headers: Record<string, string> = {}) =>
    new Promise<{ status: number; body: string }>((done, fail) => {
      get(address, { headers, servername: 'localhost', ca: readFileSync(certificate) }, answer => {
        let body = ''
        answer
          .setEncoding('utf8')
          .on('data', (text: string) => {
            body += text
          })
          .on('end', () => done({ status: answer.statusCode ?? 0, body }))
      }).on('error', fail)
    })
})
