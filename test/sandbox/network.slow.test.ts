import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { homedir } from 'node:os'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { SandboxNetwork, SandboxNetworkOptions } from '../../src/sandbox/network/sandboxNetwork.ts'
import { programMounts } from '../../src/sandbox/programMounts.ts'
import { createSandbox } from '../../src/sandbox/sandbox.ts'
import { hasBubblewrap, inNamespaces } from '../support/processes/bubblewrap.ts'
import {
  namespaces,
  openSandboxedNetworks,
  type SandboxedNetworks,
  type NameServer,
} from '../support/processes/sandboxedNetwork.ts'
import { makeCertificate, noOpenssl } from '../support/servers/certificate.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

const publicAddress = '93.184.216.34'
const proxy = 3128
const allowed = [
  'allowed.test',
  '*.below.test',
  'odd.test:8443',
  'rebinding.test',
  'mixed.test',
  'mapped.test',
  'münchen.test',
]
const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\n\r\nok'
const names: NameServer = {
  'allowed.test': [[publicAddress]],
  'a.below.test': [[publicAddress]],
  'odd.test': [[publicAddress]],
  'rebinding.test': [[publicAddress], ['127.0.0.1']],
  'mixed.test': [[publicAddress, '10.0.0.1']],
  'mapped.test': [['::ffff:127.0.0.1']],
  'xn--mnchen-3ya.test': [[publicAddress]],
}

/** A server in place of the Internet: records its requests, and answers them. */
let internet: Server
let received: string[]
let reply: (socket: Socket, data: string) => void
let board: TestBoard
let inside: SandboxedNetworks
beforeAll(async () => {
  board = await startBoard()
  internet = createServer({ allowHalfOpen: true }, socket => {
    const at = received.push('') - 1
    socket.setEncoding('latin1').on('error', () => {})
    socket.on('data', data => {
      received[at] = `${received[at]}${data}`
      reply(socket, received[at])
    })
    socket.on('end', () => socket.end())
  })
  await new Promise<void>(resolve => internet.listen(0, '127.0.0.1', resolve))
  inside = await openSandboxedNetworks(
    { boardUrl: board.url, acceptForBoard: board.server.acceptFromSandbox },
    names,
    (internet.address() as AddressInfo).port,
  )
})
afterAll(async () => {
  await inside.close()
  internet.close()
  await board.close()
})
beforeEach(() => {
  received = []
  reply = (socket, data) => {
    if (data.includes('\r\n\r\n')) socket.end(answer)
  }
})

const listed = (options: Partial<SandboxNetworkOptions> = {}) => inside.open({ allowed, ...options })
const boardPort = () => Number(new URL(board.url).port)
const head = (line: string, ...headers: string[]) => [line, ...headers, '', ''].join('\r\n')
const get = (url: string, ...headers: string[]) =>
  head(`GET ${url} HTTP/1.1`, 'Host: elsewhere.test', 'Connection: close', ...headers)
const status = (text: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0)
const viaProxy = (network: SandboxNetwork, ...texts: string[]) =>
  inside.send(
    network,
    texts.map(text => ({ port: proxy, text })),
  )
const statuses = async (network: SandboxNetwork, ...texts: string[]) => (await viaProxy(network, ...texts)).map(status)

describe.runIf(hasBubblewrap())('the network of a sandbox', () => {
  test('the board answers at its own address, and treats the caller as a stranger', async () => {
    await board.client.auth.setSettings({ enabled: false })
    const to = { port: boardPort() }
    const asked = (path: string, ...headers: string[]) => ({
      ...to,
      text: head(`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${to.port}`, 'Connection: close', ...headers),
    })
    for (const network of [listed(), inside.open({ network: 'none' })]) {
      expect(network.boardUrl).toBe(board.url)
      const answers = await inside.send(network, [
        asked('/api/health'),
        asked('/api/auth/me'),
        asked('/metrics'),
        asked('/api/auth/me', `Authorization: Bearer ${board.token}`),
      ])
      expect(answers.map(status)).toEqual([200, 401, 401, 200])
    }
    await board.client.auth.setSettings({ enabled: true })
  })

  test.runIf(noOpenssl === undefined)(
    'a board with TLS answers inside, also at the name of its certificate',
    async () => {
      const tls = makeCertificate(board.folder('tls'), ['DNS:localhost'])
      const secure = await startBoard({ tls, allowHosts: ['board.test'] })
      await secure.client.auth.setSettings({ enabled: false }).catch(() => {})
      const acceptForBoard = secure.server.acceptFromSandbox
      const script = (url: string) =>
        ['/api/health', '/metrics'].map(path => `curl -sk -o /dev/null -w '%{http_code} ' ${url}${path}`).join(';')
      const outside = spawn('sh', ['-c', script(secure.url)], { stdio: ['ignore', 'pipe', 'ignore'] })
      expect(await text(outside.stdout)).toBe('200 200 ')
      for (const boardUrl of [secure.url, secure.url.replace('localhost', 'board.test')]) {
        const network = inside.open({ boardUrl, acceptForBoard })
        expect(network.boardUrl).toBe(boardUrl)
        expect((await inside.run(network, ['sh', '-c', script(boardUrl)])).output).toBe('200 401 ')
      }
      await secure.close()
    },
  )

  test('a forged origin from a sandbox is ignored', async () => {
    const behindProxy = await startBoard({ trustProxy: true })
    const { port } = new URL(behindProxy.url)
    const network = inside.open({ boardUrl: behindProxy.url, acceptForBoard: behindProxy.server.acceptFromSandbox })
    const credentials = JSON.stringify({ email: 'ada@example.org', password: 'wrong horse' })
    const login = head(
      'POST /api/auth/login HTTP/1.1',
      `Host: 127.0.0.1:${port}`,
      'Connection: close',
      'X-Forwarded-For: 192.0.2.1',
      'Content-Type: application/json',
      `Content-Length: ${credentials.length}`,
    )
    const answers = await inside.send(network, [{ port: Number(port), text: login + credentials }])
    expect(answers.map(status)).toEqual([401])
    const { items } = await behindProxy.client.audit.list({})
    expect(items.map(({ address }) => address)).toContain('sandbox')
    await behindProxy.close()
  })

  test('a board at a port below 1024, or at an address of the machine, is reached at another address inside', () => {
    const urlOf = (boardUrl: string) => inside.open({ boardUrl }).boardUrl
    expect(urlOf('http://127.0.0.1')).toBe('http://127.0.0.1:40080')
    expect(urlOf('https://localhost:443')).toBe('https://localhost:40443')
    expect(urlOf('http://192.0.2.1:4400')).toBe('http://127.0.0.1:4400')
    expect(urlOf('https://board.example.org:4400')).toBe('https://board.example.org:4400')
  })

  test('the command gets no descriptor and no channel, and its exit code is returned', async () => {
    const look = 'ls /proc/self/fd | tr "\\n" " "; env | grep -c NODE_CHANNEL; cat /proc/1/comm; exit 7'
    const { output, errors, code } = await inside.run(listed(), ['sh', '-c', look])
    // The descriptors of every process that these tests start: they might have inherited more than three.
    const usual = spawnSync('sh', ['-c', 'ls /proc/self/fd | tr "\\n" " "'], { encoding: 'utf8' }).stdout
    expect([output, errors, code]).toEqual([`${usual}0\nbwrap\n`, '', 7])
  })

  test.each([
    ['with Perl', existsSync('/usr/bin/perl') ? ['--ro-bind', '/dev/null', process.execPath] : []],
    ['with Node', ['--ro-bind-try', '/dev/null', '/usr/bin/perl']],
  ])("it is opened %s, regardless of the command's environment", async (_, more) => {
    const network = listed()
    const env = { ...network.env, NODE_OPTIONS: '--require /nonexistent', PERL5OPT: '-Mnonexistent' }
    const ask = `curl -s ${board.url}/api/health; curl -s http://allowed.test/; echo " $NODE_OPTIONS"`
    const { output, errors } = await inside.run({ ...network, env }, ['sh', '-c', ask], '', {
      wall: wrapped => inNamespaces([...namespaces, ...more], wrapped),
    })
    expect([output, errors]).toEqual([expect.stringMatching(/^\{.*\}ok --require \/nonexistent\n$/), ''])
  })

  test("it is opened inside an agent's sandbox, with limits", async () => {
    const limits = { memoryMiB: 512, processes: null, fileMiB: 10, minutes: null }
    const argv = ['curl', '-s', 'http://allowed.test/']
    const mounts = await programMounts(argv, { PATH: process.env.PATH ?? '' }, homedir())
    const policy = { home: homedir(), mounts, network: 'listed' as const, limits }
    const sandbox = createSandbox({ mode: 'require' })
    const { output, errors } = await inside.run(listed(), argv, '', {
      wall: wrapped => sandbox.command(policy, '/', wrapped),
    })
    expect([output, errors]).toEqual(['ok', ''])
  })

  test('a command that cannot be started reports that like without a sandbox', async () => {
    const { errors, code } = await inside.run(listed(), ['/nonexistent/agent'])
    expect([code, errors]).toEqual([127, expect.stringContaining('/nonexistent/agent')])
  })

  test('a listed host receives the request without the headers for the proxy', async () => {
    const [answered] = await viaProxy(
      listed(),
      head(
        'POST http://allowed.test/path?a=b HTTP/1.1',
        'Host: elsewhere.test',
        'Connection: close, X-Private',
        'Proxy-Connection: keep-alive',
        'Proxy-Authorization: Basic c2VjcmV0',
        'X-Private: 1',
        'X-Kept: Yes',
        'Content-Length: 4',
      ) + 'body',
    )
    expect(answered).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nok$/)
    expect(answered).not.toMatch(/X-Hop/i)
    expect(received).toEqual([
      head('POST /path?a=b HTTP/1.1', 'Host: allowed.test', 'X-Kept: Yes', 'Content-Length: 4', 'Connection: close') +
        'body',
    ])
  })

  test('names are matched in the form of a URL, and a refusal states the fix', async () => {
    const network = listed()
    const [refused, ...rest] = await viaProxy(
      network,
      get('http://refused.test/'),
      ...['a.below.test', 'ALLOWED.test', 'allowed.test.', 'xn--mnchen-3ya.test'].map(name => get(`http://${name}/`)),
      ...[
        'below.test',
        'notallowed.test',
        'allowed.test.evil.test',
        'xallowed.test',
        'allowed.test:8080',
        'odd.test',
      ].map(name => get(`http://${name}/`)),
    )
    expect(refused).toMatch(/^HTTP\/1\.1 403 /)
    expect(refused).toContain('\r\n\r\nboard: This agent cannot reach refused.test:80. Allow "refused.test".\n')
    expect(rest.map(status)).toEqual([200, 200, 200, 200, 403, 403, 403, 403, 403, 403])
    expect(inside.lookups.filter(name => !names[name])).toEqual([])
    expect(network.asked()).toContainEqual({ host: 'refused.test', port: 80, isAllowed: false, count: 1 })
    expect(network.asked()).toContainEqual({ host: 'allowed.test', port: 80, isAllowed: true, count: 2 })
  })

  test('a redirect is passed on and not followed', async () => {
    reply = socket => socket.end('HTTP/1.1 302 Found\r\nLocation: http://refused.test/\r\nContent-Length: 0\r\n\r\n')
    const [answered] = await viaProxy(listed(), get('http://allowed.test/'))
    expect(answered).toMatch(/^HTTP\/1\.1 302 Found\r\n[^]*Location: http:\/\/refused\.test\//)
    expect(received.length).toBe(1)
  })

  test('a name that resolves to this machine on the second lookup is refused then', async () => {
    const network = listed()
    expect(await statuses(network, get('http://rebinding.test/'))).toEqual([200])
    expect(await statuses(network, get('http://rebinding.test/'))).toEqual([403])
    expect(received.length).toBe(1)
  })

  test('no address of this machine or a private network is reached, listed or not', async () => {
    const { port } = internet.address() as AddressInfo
    const hosts =
      `127.0.0.1 127.1 0x7f.1 2130706433 0.0.0.0 10.0.0.1 192.168.1.1 172.16.0.1 100.64.0.1 169.254.169.254 100.100.100.200
      168.63.129.16 224.0.0.1 localhost metadata.google.internal mixed.test mapped.test [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1]
      [64:ff9b::7f00:1] [fe80::1] [fd00:ec2::254]`.split(/\s+/)
    names.localhost = [['127.0.0.1']]
    const network = listed({ allowed: hosts.map(host => `${host}:${port}`) })
    const tunnels = hosts.map(host => head(`CONNECT ${host}:${port} HTTP/1.1`, `Host: ${host}:${port}`))
    const requests = hosts.map(host => get(`http://${host}:${port}/`))
    expect(await statuses(network, ...tunnels)).toEqual(tunnels.map(() => 403))
    expect(await statuses(network, ...requests)).toEqual(requests.map(() => 403))
    expect(received).toEqual([])
  })

  test("the operator's own endpoint is reached in a private network, only at its port", async () => {
    const { port } = internet.address() as AddressInfo
    const network = inside.open({ trusted: [`http://127.0.0.1:${port}/v1`] })
    const at = (other: number) => get(`http://127.0.0.1:${other}/`)
    expect(await statuses(network, at(port), at(port + 1), at(boardPort()))).toEqual([200, 403, 403])
  })

  test('a tunnel leads to a listed host and port, in both directions, and stays open when one side has ended', async () => {
    reply = (socket, data) => {
      if (data === 'hello') socket.write('and ', () => setTimeout(() => socket.end('goodbye'), 50))
    }
    const open = (target: string) => head(`CONNECT ${target} HTTP/1.1`, `Host: ${target}`)
    const answers = await viaProxy(
      listed(),
      `${open('allowed.test:443')}hello`,
      ...[
        'allowed.test:22',
        'odd.test:443',
        'refused.test:443',
        'allowed.test',
        'allowed.test:0',
        'http://allowed.test:443',
      ].map(open),
    )
    expect(answers[0]).toMatch(/^HTTP\/1\.1 200 [^\r]*\r\n\r\nand goodbye$/)
    expect(answers.slice(1).map(status)).toEqual([403, 403, 403, 400, 400, 400])
    expect(received).toEqual(['hello'])
  })

  test('another protocol is used once the other side agrees, and not before', async () => {
    const upgrade = (path: string, ...headers: string[]) =>
      head(
        `GET http://allowed.test/${path} HTTP/1.1`,
        'Host: x',
        'Connection: Upgrade',
        'Upgrade: websocket',
        ...headers,
      )
    reply = (socket, data) => {
      if (data.startsWith('GET /no')) socket.end(answer)
      else if (data.endsWith('\r\n\r\n'))
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nwelcome ')
      else if (data.endsWith('frames')) socket.end('bye')
    }
    const network = listed()
    const [agreed] = await viaProxy(network, `${upgrade('yes')}frames`)
    expect(agreed).toMatch(/^HTTP\/1\.1 101 [^]*Upgrade: websocket[^]*\r\n\r\nwelcome bye$/)
    expect(received).toEqual([
      expect.stringMatching(/^GET \/yes HTTP\/1\.1\r\nHost: allowed\.test\r\n[^]*\r\n\r\nframes$/),
    ])
    received = []
    const [declined] = await viaProxy(network, `${upgrade('no')}GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(declined).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*ok$/)
    expect(received.join('')).not.toContain('smuggled')
    expect(await statuses(network, `${upgrade('body', 'Content-Length: 3')}abc`)).toEqual([400])
  })

  test('no second request can hide in the first', async () => {
    const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: allowed.test\r\n\r\n'
    const post = (...headers: string[]) =>
      head('POST http://allowed.test/ HTTP/1.1', 'Host: allowed.test', 'Connection: close', ...headers)
    const chunked = `0\r\n\r\n${smuggled}`
    await viaProxy(
      listed(),
      post('Content-Length: 4', 'Transfer-Encoding: chunked') + chunked,
      post('Transfer-Encoding: chunked', `Content-Length: ${chunked.length}`) + chunked,
      post('Transfer-Encoding: xchunked', `Content-Length: ${smuggled.length}`) + smuggled,
      post('Transfer-Encoding: chunked, identity') + chunked,
      post('Transfer-Encoding: gzip, chunked') + chunked,
      post('Transfer-Encoding : chunked', 'Content-Length: 0') + smuggled,
      post('Transfer-Encoding:\r\n chunked', 'Content-Length: 4') + chunked,
      post('Content-Length: 0', 'Content-Length: 44') + smuggled,
      post('Content-Length: 0, 44') + smuggled,
      post('Content-Length: +44') + smuggled,
      post('Connection: content-length', `Content-Length: ${smuggled.length}`) + smuggled,
      post('Connection: close, host') + smuggled,
      head('GET http://allowed.test/ HTTP/1.1', `X: a\rb`) + smuggled,
      head('GET http://allowed.test/\nX:y HTTP/1.1', 'Host: a') + smuggled,
      head('GET http://allowed.test@refused.test/ HTTP/1.1', 'Host: a'),
      head('GET http://refused.test\\@allowed.test/ HTTP/1.1', 'Host: a'),
      head('GET http://refused.test#@allowed.test/ HTTP/1.1', 'Host: a'),
      head('GET http://%61llowed.test/ HTTP/1.1', 'Host: a'),
      head('GET / HTTP/1.1', 'Host: allowed.test'),
      head('GET https://allowed.test/ HTTP/1.1', 'Host: allowed.test'),
    )
    expect(received.length).toBeGreaterThan(2)
    for (const each of received.filter(Boolean)) {
      expect(each).toMatch(/^\w+ \S* HTTP\/1\.1\r\nHost: allowed\.test\r\n/)
      // Each request has a separate connection, and the apparent second request on it is the body of the first.
      const [first = '', ...rest] = each.split('\r\n\r\n')
      const length = Number(/\r\nContent-Length: (\d+)/.exec(first)?.[1] ?? 0)
      if (/\r\nTransfer-Encoding: chunked/.test(first)) expect(rest).toEqual(['0', ''])
      else expect(rest.join('\r\n\r\n').length).toBe(length)
    }
  })

  test('a client that sends half a head, or opens a tunnel and sends nothing, is disconnected', async () => {
    reply = () => {}
    const network = listed({ timeouts: { headMs: 200, idleMs: 300 } })
    const answers = await viaProxy(
      network,
      'GET http://allowed.test/ HTTP/1.1\r\nHost:',
      '',
      head('CONNECT allowed.test:443 HTTP/1.1', 'Host: allowed.test:443'),
      get('http://allowed.test/'),
      head('POST http://allowed.test/ HTTP/1.1', 'Host: allowed.test', 'Content-Length: 9') + 'half',
    )
    // A connection that stops after its head can be closed with or without a response.
    expect(answers.map(status).slice(0, 3)).toEqual([408, 408, 200])
  })

  test('heads that are too large are rejected', async () => {
    expect(await statuses(listed(), get('http://allowed.test/', `X: ${'x'.repeat(20_000)}`))).toEqual([431])
    expect(received).toEqual([])
  })

  test('connections above the maximum of a sandbox are closed, and later ones are accepted again', async () => {
    const network = listed()
    const waiting: Socket[] = []
    reply = socket => {
      if (waiting.push(socket) === 128) setTimeout(() => waiting.forEach(each => each.end(answer)), 300)
    }
    const answers = await viaProxy(network, ...Array.from({ length: 300 }, () => get('http://allowed.test/')))
    expect(answers.filter(each => status(each) === 200).length).toBe(128)
    expect(answers.filter(each => each === '').length).toBe(172)
  })

  test('the requested hosts of a session are recorded for up to 200 hosts, with one event each', async () => {
    const told: string[] = []
    const network = listed({ onAsked: ({ host }) => void told.push(host) })
    const texts = Array.from({ length: 210 }, (_, at) => get(`http://host${at}.test/`))
    for (const part of [texts.slice(0, 100), texts.slice(100), texts.slice(0, 100)]) await viaProxy(network, ...part)
    expect(network.asked().length).toBe(200)
    expect(network.asked()[0]).toEqual({ host: expect.any(String), port: 80, isAllowed: false, count: 2 })
    expect(told.length).toBe(200)
  })

  test('without a network only the board is reached', async () => {
    const network = inside.open({ network: 'none', allowed, trusted: ['http://allowed.test'] })
    const { port } = internet.address() as AddressInfo
    const answers = await inside.send(network, [
      { port: proxy, text: get('http://allowed.test/') },
      { port: proxy, text: head('CONNECT allowed.test:443 HTTP/1.1', 'Host: allowed.test') },
      { port, text: get('/') },
      { host: publicAddress, port: 80, text: get('/') },
    ])
    expect(answers.map(status)).toEqual([403, 403, 0, 0])
    expect(received).toEqual([])
  })

  test("of this machine's loopback only the board is reachable", async () => {
    const { port } = internet.address() as AddressInfo
    expect(
      await inside.send(listed(), [
        { port, text: get('/') },
        { host: '::1', port, text: get('/') },
      ]),
    ).toEqual(['', ''])
    const { output } = await inside.run(listed(), ['sh', '-c', 'tail -n +2 /proc/net/tcp; tail -n +3 /proc/net/dev'])
    expect(output.split('\n').filter(line => / 0A /.test(line)).length).toBe(2)
    expect(output).not.toMatch(/eth|wlan|docker/)
  })

  test('the programs of a project use the proxy automatically', async () => {
    const { output } = await inside.run(listed(), [
      'sh',
      '-c',
      `curl -sS http://allowed.test/; curl -sS http://refused.test/; curl -sS -o /dev/null -w '%{http_code}' ${board.url}/api/health`,
    ])
    expect(output).toBe('okboard: This agent cannot reach refused.test:80. Allow "refused.test".\n200')
  })

  test('when the agent ends, its open connections are closed', async () => {
    reply = () => {}
    let isClosed: Promise<void> | undefined
    internet.once('connection', socket => {
      isClosed = new Promise(resolve => socket.once('close', () => resolve()))
    })
    await inside.run(listed(), ['sh', '-c', 'curl -s -m 1 http://allowed.test/'])
    await isClosed
  })
})
