import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'

const missing = ['nginx', 'openssl'].filter(program => spawnSync(program, ['-v']).error)
if (missing.length > 0)
  process.stdout.write(`LEFT OUT: the tests of a proxy, for this machine lacks ${missing.join(' and ')}.\n`)

describe.skipIf(missing.length > 0)(
  'behind nginx with TLS and a path of its own, as the page on operations says',
  () => {
    const root = mkdtempSync(join(tmpdir(), 'board-proxy-'))
    const certificate = join(root, 'cert.pem')
    const code = 'only-for-this-test'
    let url: string
    let nginx: ChildProcess
    let board: ReturnType<typeof boardProcess>
    let cli: CommandLine

    beforeAll(async () => {
      execFileSync(
        'openssl',
        [
          'req',
          '-x509',
          '-newkey',
          'rsa:2048',
          '-nodes',
          '-days',
          '2',
          '-subj',
          '/CN=localhost',
          '-addext',
          'subjectAltName=DNS:localhost',
          '-keyout',
          join(root, 'key.pem'),
          '-out',
          certificate,
        ],
        { stdio: 'ignore' },
      )
      const port = await freePort()
      url = `https://localhost:${port}/board`
      board = boardProcess(join(root, 'data'), { HOME: root }, [
        '--public-url',
        url,
        '--trust-proxy',
        '--setup-code',
        code,
      ])
      await board.start()
      writeFileSync(join(root, 'nginx.conf'), configuration(port))
      nginx = spawn('nginx', ['-p', root, '-c', join(root, 'nginx.conf'), '-g', 'daemon off;'], {
        stdio: ['ignore', 'inherit', 'inherit'],
      })
      await eventually(
        'nginx',
        () =>
          new Promise<boolean>(done => {
            const probe = connect(port, '127.0.0.1', () => {
              probe.destroy()
              done(true)
            }).on('error', () => done(false))
          }),
      )
      cli = commandLine({ NODE_EXTRA_CA_CERTS: certificate, BOARD_URL: url })
      await board.client.projects.create({ name: 'web', path: root })
      await cli.ok(['auth', 'setup', '--email', 'ada@example.org', '--password-stdin'], {
        input: 'correct horse\n',
        env: { BOARD_SETUP_CODE: code },
      })
    })
    afterAll(async () => {
      cli?.close()
      nginx?.kill('SIGQUIT')
      if (nginx) await once(nginx, 'exit')
      await clearAway(board, root)
    })

    /** The page's own configuration, with this test's names, ports and files. */
    function configuration(port: number): string {
      const page = readFileSync(resolve('docs/operations.md'), 'utf8')
      const server = /```nginx\n([\s\S]*?)```/
        .exec(page)![1]!
        .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
        .replace('board.example.org', 'localhost')
        .replace('/etc/ssl/board.pem', certificate)
        .replace('/etc/ssl/board.key', join(root, 'key.pem'))
        .replace('http://127.0.0.1:4400', board.url)
      const own = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map(name => `${name}_temp_path ${root}/${name};`)
        .join(' ')
      return `pid ${root}/nginx.pid;\nerror_log ${root}/error.log;\nevents {}\nhttp { access_log ${root}/access.log; ${own}\n${server} }\n`
    }

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
      expect((await ask(`${url}/`)).body).toContain(`board --url ${url} auth login`)
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
