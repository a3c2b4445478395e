import { once } from 'node:events'
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect as connectPlain, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect, createServer, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandLine, type CommandLine, type Going } from '../support/commands/commandLine.ts'
import { makeCertificate, noOpenssl, type TestCertificate } from '../support/servers/certificate.ts'
import { noLibsqlServer, startLibsqlServer } from '../support/servers/libsqlServer.ts'
import { boardIn } from '../support/terminals/terminal.ts'
import { eventually } from '../support/waiting/eventually.ts'

const urlOf = (server: Going): Promise<string> =>
  eventually(
    'a server that listens',
    () => {
      if (server.code !== undefined) throw new Error(`It ended with ${server.code}: ${server.stderr}`)
      return /^Listening on (\S+)$/m.exec(server.stdout)?.[1]
    },
    30_000,
  )

describe.skipIf(noOpenssl !== undefined)('a server with a certificate', () => {
  let cli: CommandLine
  let server: Going
  let url: string
  let certificate: TestCertificate
  let dataDir: string

  beforeAll(async () => {
    cli = commandLine()
    dataDir = join(cli.home, '.local', 'share', 'board')
    certificate = makeCertificate(join(cli.home, 'tls'), ['DNS:localhost', 'DNS:board.test'])
    server = cli.start(['serve', '--port', '0', '--cert', certificate.cert, '--key', certificate.key])
    url = await urlOf(server)
    await cli.ok(['projects', 'create', 'work', '--path', cli.home])
    await cli.ok(['cards', 'add', 'by TLS', '-P', 'work'])
  }, 60_000)
  afterAll(() => cli.close())

  const port = () => Number(new URL(url).port)
  const handshake = async (options: ConnectionOptions = {}): Promise<TLSSocket> => {
    const socket = connect({ host: '127.0.0.1', port: port(), rejectUnauthorized: false, ...options })
    await once(socket, 'secureConnect')
    return socket
  }
  const servedFingerprint = async (): Promise<string> => {
    const socket = await handshake()
    const { fingerprint256 } = socket.getPeerCertificate()
    socket.destroy()
    return fingerprint256
  }
  const get = (headers: Record<string, string>): Promise<number> =>
    new Promise((resolve, reject) => {
      request(
        `${url}/api/settings/auth-status`,
        { headers, servername: 'localhost', ca: readFileSync(certificate.cert) },
        answer => {
          answer.resume()
          resolve(answer.statusCode!)
        },
      )
        .on('error', reject)
        .end()
    })

  test('shows the address that its certificate names, and is found by the commands of its account, which accept its certificate for any name', async () => {
    expect(url).toMatch(/^https:\/\/localhost:\d+$/)
    expect(await cli.ok(['auth', 'status', '--json', 'url'])).toContain(`https://127.0.0.1:${port()}`)
    expect(await cli.ok(['cards', 'list', '-P', 'work'])).toContain('by TLS')
    expect(statSync(join(dataDir, 'daemon.json')).mode & 0o777).toBe(0o600)
    expect((await cli.board(['doctor'])).stdout).toMatch(/server.*ok|ok.*server/i)
  })

  test('is accepted by others only if they have its authority', async () => {
    const { token } = JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8'))
    const env = { BOARD_DATA_DIR: join(cli.home, 'elsewhere'), BOARD_URL: url, BOARD_TOKEN: token }
    expect(await cli.board(['cards', 'list', '-P', 'work'], { env })).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    })
    const trusting = { ...env, NODE_EXTRA_CA_CERTS: certificate.cert }
    expect(await cli.ok(['cards', 'list', '-P', 'work'], { env: trusting })).toContain('by TLS')
  })

  test('does not get the local token if it presents another certificate than the one in daemon.json', async () => {
    const runtime = JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8'))
    const other = makeCertificate(join(cli.home, 'other'), ['IP:127.0.0.1'])
    const elsewhere = join(cli.home, '.local', 'share', 'false')
    const env = { BOARD_DATA_DIR: elsewhere, NODE_EXTRA_CA_CERTS: other.cert }
    const impostor = cli.start(
      ['serve', '--port', '0', '--cert', other.cert, '--key', other.key, '--data-dir', elsewhere],
      env,
    )
    const theirs = await urlOf(impostor)
    const file = join(elsewhere, 'daemon.json')
    writeFileSync(file, JSON.stringify({ ...runtime, url: theirs }), { mode: 0o600 })
    expect(await cli.board(['cards', 'list', '-P', 'work'], { env })).toMatchObject({ code: 7, stdout: '' })
    impostor.interrupt()
  })

  test('sends live events over TLS, and rejects pages of an origin without it', async () => {
    await cli.ok(['projects', 'create', 'told', '--path', cli.home, '--yes'])
    const watching = cli.start(['events', '-P', 'told', '--json'])
    await eventually('the first event', async () => {
      await cli.ok(['cards', 'add', 'told', '-P', 'told', '-q'])
      return watching.stdout.includes('card.created')
    })
    watching.interrupt()
    expect(await get({ origin: url })).toBe(200)
    expect(await get({ origin: url.replace('https:', 'http:') })).toBe(403)
    expect(await get({ host: 'evil.example' })).toBe(403)
  })

  test('shows its board in a terminal, which accepts the certificate in daemon.json, with live changes of others', async () => {
    const terminal = boardIn(['ui', '-P', 'work'], { env: cli.env, cwd: cli.home })
    try {
      await terminal.shows('by TLS')
      await cli.ok(['cards', 'add', 'pinned and live', '-P', 'work', '-q'])
      await terminal.shows('pinned and live')
      terminal.press('q')
      expect((await terminal.end()).code).toBe(0)
    } finally {
      terminal.close()
    }
  })

  test('requires at least TLS 1.2, and closes connections that cannot agree', async () => {
    const modern = await handshake({ maxVersion: 'TLSv1.2' })
    modern.destroy()
    await expect(handshake({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1' })).rejects.toThrow()
    const plain = connectPlain(port(), '127.0.0.1')
    plain.on('error', () => {})
    plain.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await once(plain, 'close')
    expect(server.code).toBe(undefined)
  })

  test('closes requests with a head that is too long or too slow, and handshakes that never end', async () => {
    const silent = connectPlain(port(), '127.0.0.1')
    const silentEnd = once(silent.resume(), 'close')
    const [slow, long] = [await handshake(), await handshake()]
    let [slowAnswer, longAnswer] = ['', '']
    slow.on('data', piece => (slowAnswer += piece)).write('GET /api/health HTTP/1.1\r\nHost: local')
    long.on('data', piece => (longAnswer += piece)).write(`GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}`)
    await Promise.all([once(slow, 'close'), once(long, 'close'), silentEnd])
    expect(slowAnswer).toContain('408 Request Timeout')
    expect(longAnswer).toContain('431 ')
  }, 30_000)

  test('loads a replaced certificate without a restart, and keeps the former one while the new one is invalid', async () => {
    const before = await servedFingerprint()
    writeFileSync(certificate.cert, 'no certificate')
    await eventually('the warning', () => server.stderr.includes('certificate cannot be used'), 20_000)
    expect(await servedFingerprint()).toBe(before)
    const next = makeCertificate(join(cli.home, 'next'), ['DNS:localhost'])
    copyFileSync(next.key, certificate.key)
    copyFileSync(next.cert, certificate.cert)
    await eventually('the new certificate', async () => (await servedFingerprint()) === next.fingerprint, 20_000)
    expect(await cli.ok(['cards', 'list', '-P', 'work'])).toContain('by TLS')
  }, 60_000)

  test('stops immediately on SIGTERM, also during an unfinished TLS handshake', async () => {
    const silent = connectPlain(port(), '127.0.0.1').resume()
    await once(silent, 'connect')
    const startedAt = performance.now()
    await cli.ok(['server', 'stop'])
    expect(performance.now() - startedAt).toBeLessThan(8000)
    await eventually('its end', () => server.code === 0)
  }, 30_000)
})

describe.skipIf(noOpenssl !== undefined)('the output of board serve', () => {
  let cli: CommandLine
  beforeAll(() => {
    cli = commandLine()
  })
  afterAll(() => cli.close())

  test('about a missing or invalid certificate', async () => {
    const one = makeCertificate(join(cli.home, 'one'), ['DNS:localhost'])
    const two = makeCertificate(join(cli.home, 'two'), ['DNS:localhost'], 'secret')
    const fails = async (...args: string[]) => {
      const { code, stderr } = await cli.board(['serve', '--port', '0', ...args])
      expect(code).toBe(2)
      return stderr
    }
    expect(await fails('--https')).toMatch(/^board: --https requires --cert and --key\n.*openssl/)
    expect(await fails('--cert', one.cert)).toMatch(/^board: --cert requires --cert and --key\n/)
    expect(await fails('--cert', join(cli.home, 'none.pem'), '--key', one.key)).toMatch(
      /^board: the certificate \S+none.pem cannot be read \(ENOENT\)\n$/,
    )
    expect(await fails('--cert', one.key, '--key', one.key)).toContain('not a PEM file')
    expect(await fails('--cert', one.cert, '--key', two.key)).toContain('BOARD_TLS_PASSPHRASE')
    expect(await fails('--cert', two.cert, '--key', one.key)).toContain('the certificate and the key do not match')
    const server = cli.start(['serve', '--port', '0', '--https', '--cert', two.cert, '--key', two.key], {
      BOARD_TLS_PASSPHRASE: 'secret',
    })
    expect(await urlOf(server)).toMatch(/^https:/)
    server.interrupt()
  }, 60_000)

  test('includes a QR code, with an address that other devices reach, on a terminal only', async () => {
    const drawn = cli.start(['serve', '--port', '0', '--qr', '--public-url', 'https://board.test:4400'], {
      BOARD_FORCE_TTY: '1',
    })
    await eventually('the code', () => /█[\s\S]*https:\/\/board\.test:4400\n/.test(drawn.stderr))
    drawn.interrupt()
    await eventually('its end', () => drawn.code !== undefined)
    const useless = cli.start(['serve', '--port', '0', '--qr'], { BOARD_FORCE_TTY: '1' })
    await eventually('the reason', () => useless.stderr.includes('no QR code: http://127.0.0.1'))
    useless.interrupt()
    await eventually('its end', () => useless.code !== undefined)
    const piped = cli.start(['serve', '--port', '0', '--qr', '--public-url', 'https://board.test:4400'])
    await urlOf(piped)
    piped.interrupt()
    await eventually('its end', () => piped.code !== undefined)
    expect(piped.stdout).toMatch(/^Listening on \S+\n$/)
    expect(piped.stderr).not.toContain('█')
  }, 60_000)
})

/** Terminates TLS before a server that listens without it, like a proxy, and counts the connections. */
async function startTlsProxy({ cert, key }: TestCertificate) {
  const proxy = { port: 0, target: 0, connections: 0, close: () => server.close() }
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, socket => {
    proxy.connections++
    const onward = connectPlain(proxy.target, '127.0.0.1')
    for (const each of [socket, onward])
      each.on('error', () => {
        socket.destroy()
        onward.destroy()
      })
    socket.pipe(onward).pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy.port = (server.address() as AddressInfo).port
  return proxy
}

const hasNoDaemons = noOpenssl !== undefined || noLibsqlServer !== undefined
describe.skipIf(hasNoDaemons)('a daemon behind a proxy with a certificate', () => {
  test('is reached by the others at the https address that it advertises', async () => {
    const database = await startLibsqlServer()
    const [here, there] = [commandLine(), commandLine()]
    const certificate = makeCertificate(join(here.home, 'tls'), ['DNS:localhost'])
    const proxy = await startTlsProxy(certificate)
    try {
      const env = {
        BOARD_SECRET_KEY: 'c2hhcmVkIGJ5IGFsbCBkYWVtb25zIG9mIGEgdGVzdCE=',
        NODE_EXTRA_CA_CERTS: certificate.cert,
      }
      const serve = (cli: CommandLine, machine: string, ...args: string[]) =>
        urlOf(cli.start(['serve', '--port', '0', '--database', database.url, '--machine', machine, ...args], env))
      const advertised = `https://localhost:${proxy.port}`
      proxy.target = Number(new URL(await serve(there, 'there', '--advertise', advertised)).port)
      await serve(here, 'here')
      await eventually(
        'the project',
        async () => (await there.board(['projects', 'create', 'work', '--path', there.home])).code === 0,
        20_000,
      )
      const [id] = (await there.ok(['cards', 'add', 'behind a proxy', '-P', 'work', '-q'])).trim().split('\n')
      expect(proxy.connections).toBe(0)
      writeFileSync(join(here.home, 'note.txt'), 'by way of the proxy')
      await eventually(
        'the way through the proxy',
        async () => (await here.board(['cards', 'attach', id!, join(here.home, 'note.txt'), '-P', 'work'])).code === 0,
        20_000,
      )
      expect(proxy.connections).toBeGreaterThan(0)
      expect(await there.ok(['cards', 'attachments', id!, '-P', 'work'])).toContain('note.txt')
    } finally {
      for (const cli of [here, there]) cli.close()
      proxy.close()
      await database.close()
    }
  }, 90_000)
})

describe.skipIf(hasNoDaemons)('daemons with certificates', () => {
  test('forward to each other by https', async () => {
    const database = await startLibsqlServer()
    const machines = ['one', 'two'].map(machine => ({ machine, cli: commandLine() }))
    try {
      const { cert, key } = makeCertificate(join(machines[0]!.cli.home, 'tls'), ['DNS:localhost', 'IP:127.0.0.1'])
      const env = {
        BOARD_SECRET_KEY: 'c2hhcmVkIGJ5IGFsbCBkYWVtb25zIG9mIGEgdGVzdCE=',
        NODE_EXTRA_CA_CERTS: cert,
      }
      for (const { machine, cli } of machines)
        await urlOf(
          cli.start(
            ['serve', '--port', '0', '--database', database.url, '--machine', machine, '--cert', cert, '--key', key],
            env,
          ),
        )
      const [one, two] = machines.map(({ cli }) => cli)
      await eventually(
        'the project',
        async () => (await one!.board(['projects', 'create', 'work', '--path', one!.home])).code === 0,
        20_000,
      )
      const [id] = (await one!.ok(['cards', 'add', 'here', '-P', 'work', '-q'])).trim().split('\n')
      writeFileSync(join(two!.home, 'note.txt'), 'from the other machine')
      await eventually(
        'the way to the other machine',
        async () => (await two!.board(['cards', 'attach', id!, join(two!.home, 'note.txt'), '-P', 'work'])).code === 0,
        20_000,
      )
      expect(await one!.ok(['cards', 'attachments', id!, '-P', 'work'])).toContain('note.txt')
    } finally {
      for (const { cli } of machines) cli.close()
      await database.close()
    }
  }, 90_000)
})
