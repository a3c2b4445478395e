import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { noProxy, proxyIn, type Proxy } from '../support/servers/proxy.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'

if (noProxy !== undefined) process.stdout.write(`LEFT OUT: the tests of a proxy, for ${noProxy}.\n`)

describe.skipIf(noProxy !== undefined)(
  'behind nginx with TLS and a path of its own, as the page on operations says',
  () => {
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

    test('commands work, and what they print names the public address', async () => {
      const id = (await cli.ok(['cards', 'add', 'Through the proxy', '-P', 'web', '-q'])).trim()
      expect(await cli.ok(['cards', 'list', '-P', 'web'])).toContain('Through the proxy')
      const file = join(root, 'big.bin')
      writeFileSync(file, Buffer.alloc(5_000_000, 'x'))
      await cli.ok(['cards', 'attach', id, file, '-P', 'web'])
      expect((await cli.json(['status', '-P', 'web'])).server).toMatchObject({ url })
    })

    test('live events come through, and end when the server does', async () => {
      const following = cli.start(['events', '-P', 'web', '--type', 'card.created'])
      await eventually('an event', async () => {
        await board.client.cards.create({ projectId: '1', title: 'Live' })
        return following.stdout.includes('"card.created"')
      })
      following.interrupt()
      await eventually('its end', () => following.code !== undefined)
    })

    test('the addresses of peers are those that the proxy saw, so that nobody outside counts as this machine', async () => {
      expect(await ask(`${url}/metrics`, { 'x-forwarded-for': '127.0.0.1' })).toMatchObject({ status: 401 })
      expect(await ask(`${url}/metrics`, { authorization: `Bearer ${board.token}` })).toMatchObject({ status: 200 })
      expect((await ask(`${url}/`)).body).toContain('<title>board</title>')
      expect((await ask(`${url}/api/health`, { host: 'evil.example' })).status).toBe(403)
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
  },
)
